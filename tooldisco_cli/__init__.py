"""tooldisco: find the right tool among thousands, and run it safely.

The command line is :mod:`tooldisco_cli.cli`; everything it does is a plain call into the packages below it.
"""

__version__ = "0.1.0"
