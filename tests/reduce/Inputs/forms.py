import helper, math as m
from helper import (
    first,
    second,  # of two
)


def outer(a, b: int = 3, *rest, c=4, **more) -> int:
    def inner(value):
        return value

    if a: b = 1
    if a:
        pass
    elif b:
        text = """keeps
    its lines"""
        with open(text) as file:
            for x, y in [(1, 2)]:
                while x:
                    try:
                        keep = (a + wanted) * inner(1024 if b else 0x40)
                    finally:
                        pass
                else:
                    x = 1
            else:
                y = 1
    elif c:
        b = 3
    else:
        b = 4; c = 5
    return b


class Other:
    def method(self):
        return outer(1, 2)


if __name__ == "__main__":
    print(outer(1, 2, 3, c=[1, 2, 3]), sep="")
