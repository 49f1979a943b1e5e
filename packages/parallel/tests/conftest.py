"""Eight virtual CPU devices, asked for before any is made."""

import os

os.environ.setdefault("RICCI_NUM_CPU_DEVICES", "8")
os.environ.setdefault("RICCI_PLATFORMS", "cpu")
