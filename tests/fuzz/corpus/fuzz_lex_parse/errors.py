@jit
def f(x, x):
    y = (1
    z = [1, 2)
    if x = 3:
        pass
      w = "abc
    s = f"{x!r:{w}>4}{{}}" rb'\x41' 0x_ff 1_000.5e-3 012 1j
	t = 1
    x++ ; a && b ; ! c ; d <> e
    for in y: pass
    while True
        break
