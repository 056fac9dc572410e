"""The table: each module here has the rows of one group, and `rows()` yields them."""
import importlib
import pkgutil


def groups():
    return sorted(m.name for m in pkgutil.iter_modules(__path__))


def all_rows():
    """Every row, with its group; names are unique."""
    found, kernels = {}, set()
    for group in groups():
        for row in importlib.import_module(f"table.{group}").rows():
            row.group = group
            assert row.kernel not in kernels, f"two rows are named {row.name}"
            kernels.add(row.kernel)
            found[row.name] = row
    return list(found.values())
