"""The tooldisco command."""


def main() -> None:
    """Run."""
