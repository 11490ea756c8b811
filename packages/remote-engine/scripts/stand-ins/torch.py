"""Replaces torch, which SkyRL's JAX backend imports for a type only: 5 GB less to install."""


class Tensor:
    pass
