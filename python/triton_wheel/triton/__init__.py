"""tilec.triton under the name `triton`."""
import sys

import tilec

del sys.modules[__name__]  # this file's: the next import is tilec's
tilec.install()
sys.modules[__name__] = __import__("importlib").import_module(__name__)
