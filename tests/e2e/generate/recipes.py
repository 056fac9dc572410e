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
    Recipe(tile, 3), Recipe(scalar, 0.7), Recipe(gather, 1), Recipe(pure, 12), Recipe(function, 2), Recipe(store, 1), Recipe(update, 1.5),
    Recipe(atomic, 1), Recipe(block_load, 1), Recipe(block_store, 0.5), Recipe(product, 0.6), Recipe(product_loop, 0.6, 2),
    Recipe(block_product, 0.4, 0), Recipe(loop, 1.5, 2), Recipe(sum_loop, 0.5, 2), Recipe(while_loop, 0.4, 2), Recipe(branch, 1.2, 2),
    Recipe(exchange, 0.6), Recipe(by_comparing, 0.2), Recipe(locked, 0.2), Recipe(block_atomic, 0.4), Recipe(printed, 0.3),
    Recipe(assumed, 0.7), Recipe(asserted, 0.3),
    Recipe(rescaled_products, 0.2, 0, True), Recipe(waiting_row, 0.15, 0, True), Recipe(alone, 0.5, 0, True),
]
