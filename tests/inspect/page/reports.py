"""Reports in the form of docs/inspecting.md, small enough to know what the page has to show of them, and the page filled with them."""
import glob
import json
import os
import random

SOURCE = '''"""A product, written down for the page:
a string over two lines."""
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, K, BLOCK: tl.constexpr):  # </script><img src=x onerror=alert(1)>
    rows = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        a = tl.load(a_ptr + rows)
        acc = tl.dot(a, a, acc)
    tl.store(b_ptr + rows, acc)
'''
PATH = "kernels/product.tile"
FIRST = ["layout #L0 = {reg = [1, 2], lane = [4, 8], warp = [16]}", "", "func @product(%a_ptr: ptr<f16>) {", "    %rows = range {start = 0} : tile<64xi32, #L0>",
         "    %acc = constant_float {value = 0x0p+0} : tile<64x64xf32, #L0>", "    %0 = for %1, %2 {", "        %a = load %3 : tile<64x64xf16, #L0>", "        %4 = dot %a, %a, %acc : tile<64x64xf32, #L0>",
         "    }", "    store %5, %0", "}"]
FIRST_AT = [0, 0, [0, 8], [0, 9], [0, 10], [0, 11], [0, 12], [0, 13], 0, [0, 14], 0]
# One load became two ops, a value changed its number, the constant is gone
SECOND = FIRST[:4] + FIRST[5:6] + ["        %b = copy_block %3 : buffer<64x64xf16, #L0>", "        %a = local_load %b : tile<64x64xf16, #L0>", "        %9 = dot %a, %a, %acc : tile<64x64xf32, #L0>"] + FIRST[8:]
SECOND_AT = FIRST_AT[:4] + FIRST_AT[5:6] + [[0, 12], [0, 12], [0, 13]] + FIRST_AT[8:]


def ptx(lines):
    """PTX of that many lines, by turns of the source's lines 11 to 14."""
    text = [".version 8.0", ".visible .entry product(", ")", "{"]
    at = [0, 0, 0, 0]
    while len(text) < lines - 1:
        line = 11 + len(text) // 7 % 4
        text.append(f"\tadd.s32 \t%r{len(text)}, %r{len(text) - 1}, {line};")
        at.append([0, line])
    return text + ["}"], at + [0]


def layout(name, shape, reg, lane, warp, element="f16", memory="registers", block=(), values=("%acc",)):
    def coordinates(index):
        found = []
        for extent in reversed(shape):
            found.insert(0, index % extent)
            index //= extent
        return found
    parts = {"reg": reg, "lane": lane, "warp": warp, "block": block}
    return {"name": name, "stage": "02-second", "shape": list(shape), "type": element, "memory": memory, "values": list(values), "at": [[0, 13]],
            **{part: [coordinates(index) for index in bases] for part, bases in parts.items()}}


LAYOUTS = [
    # mma's accumulator of 32 x 64 over two warps
    layout("#L0", (32, 64), [1, 512, 8, 16, 32], [2, 4, 64, 128, 256], [1024], "f32"),
    # rows of eight elements a thread; two of the lanes' bits repeat, and a register's and a warp's meet
    layout("#L1", (32, 16), [1, 2, 4, 256 | 64], [8, 16, 32, 0, 0], [64, 128], values=("%a",)),
    # a vector, and one held by two CTAs
    layout("#L2", (1024,), [1, 2, 256, 512], [4, 8, 16, 32, 64], [128], "f32", values=("%x",)),
    layout("#L3", (2, 8, 64), [1, 2], [4, 8, 16, 32, 64], [128, 256], "f16", block=(512,), values=("%y",)),
    # a buffer of 32 x 64 by rows, and with a swizzle, which #L0 reads
    layout("#L4", (32, 64), [1 << bit for bit in range(11)], [], [], "f32", "shared", values=("%rows",)),
    layout("#L5", (32, 64), [1, 2, 4, 8, 16, 32, 64 | 8, 128 | 16, 256 | 32, 512, 1024], [], [], "f32", "shared", values=("%swizzled",)),
]


# Lanes 128 bytes apart, all in one bank; eight lanes of 16 bytes each, in a row; lanes 4 to 7 that take one word
SHARED = [{"line": 45, "reads": True, "size": 16, "program": 0, "warp": 1, "wavefronts": 1, "ideal_wavefronts": 1, "mask": 255, "addresses": [16 * lane for lane in range(8)]},
          {"line": 50, "reads": False, "size": 4, "program": 3, "warp": 2, "wavefronts": 32, "ideal_wavefronts": 1, "mask": 0xffffffff, "addresses": [64 + 128 * lane for lane in range(32)]},
          {"line": 52, "reads": True, "size": 4, "program": 0, "warp": 0, "wavefronts": 1, "ideal_wavefronts": 1, "mask": 0xf0, "addresses": [8, 8, 8, 8]}]


def profile():
    lines = [{"at": [0, line], "warps": 100 * line, "threads": 3200 * line, "divergent": 0, "sectors": 0, "ideal_sectors": 0, "wavefronts": 0, "ideal_wavefronts": 0, "wait_cycles": 2 * line, "cycles": cycles}
             for line, cycles in ((9, 10.0), (11, 30.0), (12, 160.0), (13, 600.0), (14, 200.0))]
    lines[2].update(sectors=4096, ideal_sectors=1024)
    lines[3].update(wavefronts=800, ideal_wavefronts=100)
    return {"launch": {"grid": [4, 2, 1], "cycles": 12345, "alone_cycles": 10000, "warp_cycles": 10000, "crowded_by": "f32", "rounds": 2, "units": {"shared memory": 6.5, "f32": 2.5, "votes": 0.01},
                       "parts": {"launch": 0.25, "longest": 6.5, "beside": 0.4, "uneven": 0, "code": 0.1, "name": "shared memory"}, "bounds": {"latency": 5.0, "unit": 6.5, "l2": 0.5, "dram": 0}, "unit": "shared memory", "microseconds": 7.25, "device": "H200"}, "classes": [{"name": "tensor", "warps": 300}, {"name": "move", "warps": 100}],
            "traffic": {"read": {"moved": 131072, "used": 32768, "distinct": 32768}, "written": {"moved": 2048, "used": 2048, "distinct": 2048}},
            "lines": lines, "ptx": [{"line": 6, "warps": 700, "cycles": 12.0}, {"line": 13, "warps": 300, "cycles": 4.0}, {"line": 16, "warps": 300, "cycles": 1.0}, {"line": 14, "warps": 300, "cycles": 2.0, "awaited_cycles": 1.0}, {"line": 40, "warps": 300, "cycles": 1.0, "awaited_cycles": 150.0}, {"line": 45, "warps": 300, "cycles": 2.0, "awaited_cycles": 1.5}, {"line": 46, "warps": 700, "cycles": 6000.0, "wait_cycles": 4150.0, "held_cycles": 4000.0}, {"line": 47, "warps": 1400, "cycles": 1.0, "awaited_cycles": 2500.0}, {"line": 50, "warps": 8, "cycles": 1500.0, "queued_cycles": 1200.0, "wavefronts": 256, "ideal_wavefronts": 8}],
            "shared": SHARED,
            # Of line 13 for line 12, and for its own
            "waits": [{"line": 46, "for": 40, "cycles": 150.0}, {"line": 46, "for": 45, "cycles": 1.5}]}


def report(lines=300, **changes):
    text, at = ptx(lines)
    live = random.Random(3)
    made = {
        "version": 1, "kernel": "product", "target": "sm_90a", "tilec": "1.2.3",
        "options": {"num_warps": 4, "num_stages": 3, "constexprs": {"BLOCK": "64"}, "signature": ["*fp16:16", "*fp16:16", "i32"]},
        "facts": {"warps": 4, "stages": 3, "ctas": 1, "programs_per_cta": 1, "registers": 40, "spill_stores": 0, "spill_loads": 0, "shared": 49152, "ctas_per_sm": 4, "occupancy": 0.25, "limited_by": "shared memory"},
        "sources": [{"path": PATH, "text": SOURCE}],
        "stages": [{"id": "01-first", "kind": "tir", "title": "first", "summary": "as it was elaborated", "lines": FIRST, "at": FIRST_AT},
                   {"id": "02-second", "kind": "tir", "title": "second", "summary": "loads are copies", "lines": SECOND, "at": SECOND_AT},
                   {"id": "ptx", "kind": "ptx", "title": "ptx", "summary": "PTX", "lines": text, "at": at}],
        "remarks": [{"at": [0, 13], "column": 15, "severity": "remark", "name": "dot_is", "text": "this dot is wgmma", "help": ""},
                    {"at": [0, 12], "column": 13, "severity": "warning", "name": "lint_mask", "text": "<b>nothing</b> is masked", "help": "mask=rows < K"}],
        "layouts": LAYOUTS,
        "shared": {"bytes": 49152, "steps": 40, "limit": 232448, "buffers": [
            {"name": "%44", "at": [0, 12], "offset": 0, "bytes": 32768, "copies": 2, "from": 4, "to": 30, "type": "64x64xf16", "banks": {"read": 1.0, "written": 4.0}},
            {"name": "%45", "at": [0, 14], "offset": 32768, "bytes": 16384, "copies": 1, "from": 28, "to": 39, "type": "64x64xf32", "banks": {"read": None, "written": 1.0}}]},
        "registers": {"limit": 64, "limit_by": "the compiler", "dropped": 0, "taken": 40, "lines": [0, 0, 0, 0] + [min(60, 5 + index // 6 + live.randrange(4)) for index in range(len(text) - 5)] + [0]},
        "loops": [{"at": [0, 11], "stages": 3, "trips": 16, "turns": None, "turn_cycles": 812.5, "roles": [
            {"name": "producer", "warps": "1", "clocks": 200.0, "ops": [{"text": "copy_block %3", "kind": "copy", "at": [0, 12], "from": 0.0, "to": 350.0, "ahead": 2}]},
            {"name": "consumer", "warps": "4", "clocks": 200.0, "ops": [{"text": "mbarrier_wait %b", "kind": "wait", "at": [0, 12], "from": 0.0, "to": 40.0, "ahead": 0},
                                                                     {"text": "%9 = dot %a, %a, %acc", "kind": "product", "at": [0, 13], "from": 40.0, "to": 200.0, "ahead": 0}]}]}],
        "profile": profile(),
        "findings": [{"at": [0, 13], "kind": "bank_conflicts", "ptx_line": 222, "share": 0.6, "gain_us": 2.9, "title": "bank conflicts", "figures": "8.0 wavefronts where 1 would do", "why": "Columns are read from rows of 256 bytes.", "try": "Store the other way round."},
                     {"at": [0, 12], "kind": "load_latency", "ptx_line": 14, "share": 0.55, "gain_us": 1.45, "title": "sectors that nobody uses", "figures": "4.0 sectors where 1 would do", "why": "The stride is not known.", "try": "i32:16"}]}
    made.update(changes)
    return made


def empty():
    """A kernel of which nothing is known."""
    return {"version": 1, "kernel": "nothing", "target": "sm_80", "tilec": "1.2.3", "options": {}, "facts": {"registers": 8}, "sources": [{"path": "n.tile", "text": "def nothing():\n    pass\n"}],
            "stages": [{"id": "ptx", "kind": "ptx", "title": "ptx", "summary": "PTX", "lines": ["ret;"], "at": [[0, 1]]}], "remarks": [], "layouts": [], "shared": {"bytes": 0, "steps": 0, "buffers": []},
            "registers": {"limit": 255, "lines": []}, "loops": [], "profile": None, "findings": []}


def other():
    """A second compilation of the source with a line more and one less, with fewer registers."""
    source = SOURCE.replace("    rows = tl.arange(0, BLOCK)\n", "    rows = tl.arange(0, BLOCK)\n    half = BLOCK // 2\n")
    moved = [[0, place[1] + (place[1] >= 10)] if place else 0 for place in FIRST_AT]
    made = report(sources=[{"path": PATH, "text": source}])
    made["facts"] = {**made["facts"], "registers": 32, "stages": 2, "shared": 65536}
    made["options"] = {**made["options"], "num_stages": 2, "label": "--num-stages 2"}
    lines = [line.replace("64x64xf16", "32x64xf16") for line in FIRST]
    made["stages"] = [{**made["stages"][0], "lines": lines, "at": moved}, made["stages"][2]]
    return made


def ran():
    """A report whose loop was run: a store with conflicts, the wait for it, and what all warps keep busy."""
    made = report()
    pieces = [{"kind": "wait", "at": [0, 12], "ptx": [20, 20], "count": 1, "from": 0, "to": 60.0, "until": 60.0, "busy": 0, "replays": 0, "unit": "", "waits": True},
              {"kind": "shared", "at": [0, 13], "ptx": [22, 25], "count": 4, "from": 60.0, "to": 100.0, "until": 130.0, "busy": 40.0, "replays": 30.0, "unit": "", "waits": False},
              {"kind": "product", "at": [0, 13], "ptx": [26, 26], "count": 1, "from": 130.0, "to": 190.0, "until": 260.0, "busy": 60.0, "replays": 0, "unit": "", "waits": False},
              {"kind": "queue", "at": [0, 13], "ptx": [22, 22], "count": 1, "from": 200.0, "to": 330.0, "until": 330.0, "busy": 130.0, "replays": 0, "unit": "shared memory", "waits": False}]
    made["loops"][0]["roles"][1]["run"] = {"program": 2, "warp": 1, "turn": 8, "turns": 16, "clocks": 330.0, "pieces": pieces,
                                           "units": [{"name": "issue", "clocks": 50.0, "wavefronts": 0, "replays": 0}, {"name": "shared memory", "clocks": 320.0, "wavefronts": 300.0, "replays": 240.0}]}
    return made


def wide():
    """A report with all that there can be in its table, and findings with long advice, one of which follows from another."""
    made = report()
    every = {"warps": 32768, "threads": 1048576, "divergent": 1024, "sectors": 4096, "ideal_sectors": 512, "wavefronts": 88320, "ideal_wavefronts": 8832, "wait_cycles": 3738.2, "awaited_cycles": 3917.1, "queued_cycles": 2642.3, "shared_clocks": 88320, "cycles": 7270.1}
    for line in made["profile"]["lines"]:
        line.update(every)
    made["profile"]["launch"].update(warp_cycles=36350.5, parts={"launch": 1.4, "longest": 5.0, "beside": 0.7, "uneven": 0, "code": 0.15, "name": "shared memory"})
    costs = lambda gain, share: {"gain_us": gain, "share": share, "left": {"microseconds": 7.25 - gain, "parts": {"launch": 1.4, "longest": 1.75, "beside": 0.4, "uneven": 0, "code": 0.15, "name": "shared memory"}}}
    advice = "The product at line 13 is done by threads, which fetch its operands for each few multiply-adds. On tensor cores, which take each operand once, this goes too. "
    finding = lambda kind, line, title, follows, figures, more: {"at": [0, line] if line else 0, "kind": kind, "ptx_line": 14 if line else 0, "title": title, "follows": follows, "figures": figures, "why": "A wavefront is one pass through the banks of shared memory. " * 3, **more}
    made["findings"] = [finding("fma_dot", 13, "a product by threads", 0, "64 x 64 x 32 of f32 by fma; 6715 of 14911 clocks of a warp go there", {**costs(4.0, 0.6), "try": "Give -D PRECISION=\"'tf32'\", or \"tf32x3\" where the result has to be as exact as with fp32; or load 16-bit operands."}),
                        finding("bank_conflicts", 14, "bank conflicts", 0, "32.0 wavefronts where 1 would do", {**costs(2.5, 0.3), "after_us": 2.25, "try": advice + "Or load less."}),
                        finding("few_words", 12, "few words", 1, "8192 wavefronts of a program read here", {**costs(1.0, 0.2), "try": advice}),
                        finding("small_grid", 0, "fewer programs", 0, "1 CTA for 132 SMs of an H200", {"gain_us": None, "share": None, "left": None, "try": "Launch more programs: smaller blocks, or split what a program loops over."})]
    return made


def moved(part, by):
    """A report whose source begins so many lines later in its file."""
    if isinstance(part, dict):
        made = {name: moved(value, by) for name, value in part.items()}
        return {**made, "first_line": 1 + by} if "path" in part else made
    if isinstance(part, list) and len(part) == 2 and part[0] == 0 and isinstance(part[1], int):
        return [0, part[1] + by]
    return [moved(value, by) for value in part] if isinstance(part, list) else part


def assets(folder):
    scripts = "".join(open(path, encoding="utf-8").read() for path in sorted(glob.glob(os.path.join(folder, "report*.js"))))
    return [open(os.path.join(folder, "report." + kind), encoding="utf-8").read() for kind in ("html", "css")] + [scripts]


def write_page(folder, reports, path):
    """The page as the compiler makes it: assets with the JSON between them, in which < is \\u003c."""
    page, style, script = assets(folder)
    parts = {"{{style}}": style, "{{script}}": script, "{{report}}": json.dumps(reports).replace("<", "\\u003c")}
    for name, text in parts.items():
        before, _, after = page.partition(name)
        page = before + text + after
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)
