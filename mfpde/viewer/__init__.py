"""Runs as one HTML page: everything inside, nothing from the network, opened from disk.

``packed`` says how numbers become text in a page, ``frames`` what is kept of the saved states,
``exhibit`` of a whole run; ``writing`` puts it into the page, whose parts are in ``page``.
"""

from mfpde.viewer.exhibit import Exhibit, exhibit_of
from mfpde.viewer.writing import NamedRun, view, write_page

__all__ = ["Exhibit", "NamedRun", "exhibit_of", "view", "write_page"]
