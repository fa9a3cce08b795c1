"""Settings files: each section checked, and what they build."""

from mfpde.settings.base import NEEDED, SettingsError
from mfpde.settings.settings import FILE, Settings, read_settings, settings_from_dict

__all__ = [
    "FILE",
    "NEEDED",
    "Settings",
    "SettingsError",
    "read_settings",
    "settings_from_dict",
]
