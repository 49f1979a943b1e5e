"""Hooks for packages above this one."""

from ._attention import attention_kernel as attention_kernel
