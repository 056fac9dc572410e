"""All operations without memory, whose rows stand in the modules named here."""
import arithmetic
import functions
import tiles
from table import OPERATIONS

MODULES = (arithmetic, functions, tiles)  # each adds its rows when it is imported
__all__ = ["MODULES", "OPERATIONS"]
