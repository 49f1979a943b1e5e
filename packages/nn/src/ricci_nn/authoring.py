"""What packages above this one provide."""

from ._attention import attention_kernel as attention_kernel
