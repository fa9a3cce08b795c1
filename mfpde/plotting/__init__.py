"""Pictures of measures and runs, as matplotlib objects; nothing is ever shown.

Every function draws on figures of its own (or on the axes it is given) without the
global state of pyplot, so that it works without a display and leaves nothing open.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
