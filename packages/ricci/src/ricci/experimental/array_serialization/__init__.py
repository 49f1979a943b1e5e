"""Arrays over many devices in files. See ``ricci_storage``."""

__all__: list[str] = []
