"""Small libraries that show how models and optimizers are written. See ``ricci_examples``."""

__all__: list[str] = []
