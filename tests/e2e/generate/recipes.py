"""What programs are made of: each recipe adds some statements to a block, or raises Stuck and may leave some unused ones."""
from control import branch, loop, sum_loop, while_loop
from effects import asserted, assumed, block_atomic, by_comparing, exchange, locked, printed
from heavy import rescaled_products, waiting_row
from memory import atomic, block_load, block_store, store, update
from products import alone, block_product, product, product_loop
from pure import function, pure
from random_program import Recipe, Stuck


def tile(b):
    b.tile()


def scalar(b):
    if b.chance(0.5):
        b.tile(shape=())
    elif b.chance(0.5):
        b.emit("copy", b.some(-3, 20))
    elif b.chance(0.5):
        b.emit("num_programs", axis=0)
    else:
        b.emit("add", b.recent(list(b.random.program.scalars)), b.some(0, 3))


def gather(b):
    """A tile whose places another array holds."""
    shape = b.shape()
    size = b.some(8, 300)
    index = b.index(shape, b.strides(shape), b.place())
    dtype = b.pick(("i32", "i32", "i64", "i16", "u32"))
    places = b.array(dtype, b.reach(index) + 1 + 800 * b.in_loop, low=0, high=size)
    pointer = b.emit("pointer", index, array=places, hidden=True)
    at = b.emit("load", pointer, None, None)
    name = b.array(b.random.dtype(), size, **b.fill("fp32"))
    pointer = b.emit("pointer", at, array=name, hidden=True)
    b.emit("load", pointer, None, None)


def wrapped(b):
    """A tile whose places, and often a mask, are numbers of 8 or 16 bits, which wrap on the way."""
    shape = b.shape()
    index = b.index(shape, b.strides(shape), b.place())
    dtype = b.pick(("i8", "i8", "u8", "i16"))
    number = b.emit("to", index, dtype=dtype, hidden=True)
    for _ in range(b.some(1, 3)):
        op = b.pick(("add", "add", "mul", "sub", "mod", "floordiv", "and", "shr"))
        if op in ("mul", "mod", "floordiv", "and") or b.chance(0.7) or op == "shr":
            other = b.some(1, 4) if op == "shr" else b.pick((1, 3, 5, 16, 32, 100)) if op in ("add", "sub") else b.pick((2, 3, 7, 8, 15, 16))
        else:
            other = b.emit("to", b.pick(b.random.pids), dtype=dtype, hidden=True)
        number = b.emit(op, number, other, hidden=True)
    if dtype == "i16":
        number = b.emit("floordiv", number, 128, hidden=True)
    mask = b.emit(b.pick(("lt", "ge")), number, b.pick((0, 3, 16, 64)), hidden=True) if b.chance(0.4) else None
    at = b.emit("to", number, dtype=b.pick(("i32", "i32", "i64")), hidden=True)
    at = b.emit("add", at, 256, hidden=True)
    dtype = b.random.dtype()
    pointer = b.emit("pointer", at, array=b.array(dtype, 520, **b.fill(dtype)), hidden=True)
    b.emit("load", pointer, mask, b.number(dtype) if mask else None)


def store_results(b):
    names = [n for n in b.names() if n not in b.random.stored and n not in b.random.program.scalars]
    b.rng.shuffle(names)
    for name in names[:7]:
        for _ in range(4):
            try:
                block_store(b, name) if b.chance(0.2) else store(b, name)
                break
            except Stuck:
                pass


RECIPES = [
    Recipe(tile, 3), Recipe(scalar, 0.7), Recipe(gather, 1), Recipe(wrapped, 1), Recipe(pure, 12), Recipe(function, 2), Recipe(store, 1), Recipe(update, 1.5),
    Recipe(atomic, 1), Recipe(block_load, 1), Recipe(block_store, 0.5), Recipe(product, 0.6), Recipe(product_loop, 0.6, 2),
    Recipe(block_product, 0.4, 0), Recipe(loop, 1.5, 2), Recipe(sum_loop, 0.5, 2), Recipe(while_loop, 0.4, 2), Recipe(branch, 1.2, 2),
    Recipe(exchange, 0.6), Recipe(by_comparing, 0.2), Recipe(locked, 0.2), Recipe(block_atomic, 0.4), Recipe(printed, 0.3),
    Recipe(assumed, 0.7), Recipe(asserted, 0.3),
    Recipe(rescaled_products, 0.2, 0, True), Recipe(waiting_row, 0.15, 0, True), Recipe(alone, 0.5, 0, True),
]
