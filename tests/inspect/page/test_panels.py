"""Tests of the page: layouts, banks, loops and their figures against what the report says."""
import itertools
import random
import re

import reports
from setting import SIZES, same


def index_of(entry, coordinates):
    """The interpreter of bases: the element that (register, lane, warp, block) hold, as coordinates."""
    index = 0
    for part, number in zip(("reg", "lane", "warp", "block"), coordinates):
        for bit, basis in enumerate(entry[part]):
            if number >> bit & 1:
                at = 0
                for coordinate, extent in zip(basis, entry["shape"]):
                    at = at * extent + coordinate
                index ^= at
    found = []
    for extent in reversed(entry["shape"]):
        found.insert(0, index % extent)
        index //= extent
    return tuple(found)


def test_layouts(setting):
    """What hovering over an element says is what the bases say, for every layout, at several sizes of the drawing."""
    page = setting.open("one", "panel=layouts&dock=full")
    chance = random.Random(5)
    for number, entry in enumerate(reports.LAYOUTS):
        page.go(f"panel=layouts&dock=full&layout={number}")
        page.value(f"page.layoutView.choose({number})")
        held = {}
        for coordinates in itertools.product(*(range(1 << len(entry[part])) for part in ("reg", "lane", "warp", "block"))):
            held.setdefault(index_of(entry, coordinates), []).append(coordinates)
        same(page.value("page.layoutView.held.times"), len(next(iter(held.values()))), f"holders in {entry['name']}")
        for zoom in (0, -1):
            page.value(f"page.layoutView.zoomBy({zoom})")
            for _ in range(5):
                x, y = page.value(f"""(view => {{
                    const box = view.canvas.getBoundingClientRect(), part = {chance.random()}, down = {chance.random()};
                    const wide = Math.min(view.columns * view.zoom, view.sheet.clientWidth - 60), high = Math.min(view.rows * view.zoom, view.sheet.clientHeight - 40);
                    return [box.left + view.left + part * wide, box.top + view.top + down * high]; }})(page.layoutView)""")
                page.mouse(x, y, settle=False)
                told, note = page.value("['layout-readout', 'tip'].map(id => byId(id).textContent)")
                element = tuple(int(word) for word in re.match(r"\[([\d, ]+)\]", told).group(1).split(","))
                same(note.split("\n")[0], told.split("\n")[0], "the note beside the mouse")
                if entry["memory"] == "shared":
                    offset, byte, bank = map(int, re.search(r"offset (\d+), byte (\d+), bank (\d+)", told).groups())
                    same(index_of(entry, (offset, 0, 0, 0)), element, entry["name"])
                    same((byte, bank), (offset * 4, offset % 32), "bytes and banks")
                    continue
                told_holders = [tuple(int(part or 0) for part in (reg, lane, warp, block)) for warp, lane, reg, block in re.findall(r"warp (\d+), lane (\d+), register (\d+)(?:, block (\d+))?", told)]
                assert told_holders and all(index_of(entry, holder) == element for holder in told_holders), f"{entry['name']} {element}: {told}"
                same(len(told_holders), min(5, len(held[element])), f"holders of {element}")
    # From a thread to its element
    page.value("page.layoutView.choose(1)")
    page.value("""(inputs => { inputs[0].node.value = 3; inputs[1].node.value = 5; inputs[2].node.value = 13; inputs[2].node.dispatchEvent(new Event('input')); })(page.layoutView.inputs)""")
    same(page.value("byId('layout-readout').textContent"), f"[{', '.join(map(str, index_of(reports.LAYOUTS[1], (13, 5, 3, 0))))}]\nwarp 3, lane 5, register 13\nand 3 more:\n  warp 3, lane 13, register 13\n  warp 3, lane 21, register 13\n  warp 3, lane 29, register 13")
    page.value("page.layoutView.choose(0)")
    page.click('[aria-label="Colours by register"]')
    same(page.value("[...document.querySelectorAll('button[aria-label^=\"Colours by\"]')].map(button => button.getAttribute('aria-pressed'))"), ["false", "false", "true"])
    same(page.value("[page.layoutView.place.textContent, document.activeElement.textContent]"), ["031", "register"], "the legend's range, the focus")
    page.value("page.layoutView.goTo(0), page.layoutView.canvas.focus()")
    page.key("ArrowRight", 3)
    page.key("ArrowDown", 2)
    assert page.value("byId('layout-readout').textContent").startswith("[2, 3]")
    # A slice of a tile of three dimensions
    page.value("page.layoutView.choose(3)")
    page.value("page.layoutView.goTo(512 + 64 + 5)")
    assert page.value("byId('layout-readout').textContent").startswith("[1, 1, 5]")
    same(page.value("page.layoutView.slices.querySelector('input').value"), "1")
    same(page.complaints, [])
    page.close()


def wavefronts(tile, buffer, vector, access_registers):
    """The wavefronts of the first phase of an access, counted one lane after the other."""
    offsets = {index_of(buffer, (offset, 0, 0, 0)): offset for offset in range(1 << len(buffer["reg"]))}
    lanes = {16: 8, 8: 16}.get(vector * 4, 32)
    banks = {}
    for lane in range(lanes):
        for register in access_registers:
            word = offsets[index_of(tile, (register, lane, 0, 0))]
            banks.setdefault(word % 32, set()).add(word)
    return max(len(words) for words in banks.values())


CHOOSE = "(select => { select.value = '%s'; select.dispatchEvent(new Event('change')); })(document.querySelector('[aria-label=\"Access, or buffer and tile\"]'))"


def test_banks(setting):
    page = setting.open("one", "panel=banks&dock=full")
    pairs = page.value("bankPairs(page.reports[0]).map(pair => [pair.buffer.entry.name, pair.tile.entry.name])")
    same(pairs, [["#L4", "#L0"], ["#L5", "#L0"]])
    for number, name in enumerate(("#L4", "#L5")):
        page.value(CHOOSE % f"pair {number}")
        wanted = wavefronts(reports.LAYOUTS[0], next(entry for entry in reports.LAYOUTS if entry["name"] == name), 2, (0, 1))
        told = page.value("byId('panel').querySelector('h3').textContent")
        same(told.split()[0], f"{wanted:.2f}", f"wavefronts of {name}")
        assert "8 bytes at a time (2 elements)" in page.value("byId('panel').textContent")
        assert f"{2 * wanted} wavefronts in 2 phases" in page.value("byId('panel').querySelector('svg').getAttribute('aria-label')")
    same(page.value("[...document.querySelectorAll('.panel select optgroup')].map(group => [...group.querySelectorAll('option')].map(option => option.value))"), [["ran 0"], ["ran 1", "ran 2"], ["pair 0", "pair 1"]], "those with conflicts stand before those without")
    cells = "[...document.querySelectorAll('.panel svg g text')].map(text => text.textContent)"
    for choice, wanted, told in (("ran 0", [str(lane) for lane in range(32)], ["32 wavefronts, 1 would do", "warp 2 of program 3 writes 4 bytes for each of 32 lanes", "128 bytes from lane to lane", "256 wavefronts, 8 would do", "PTX 50"]),
                                 ("ran 1", [str(lane) for lane in range(8) for _ in range(4)], ["1 wavefront, no conflicts", "reads 16 bytes for each of 8 lanes, bytes 0 to 127", "PTX 45"]), ("ran 2", ["4+3"], ["for each of 4 lanes", "bytes 8 to 11"])):
        page.value(CHOOSE % choice)
        same(page.value(cells), wanted, f"cells of {choice}")
        for word in told:
            assert word in page.value("byId('panel').textContent"), f"{choice} lacks {word}"
    same(page.value("noBanks({layouts: [], profile: null}).includes('those of inline PTX too')"), True)
    page.close()
    page = setting.open("one", "panel=banks")
    same(page.value("byId('panel').querySelector('h3').textContent"), "32 wavefronts, 1 would do", "it opens on the worst access")
    assert page.value("(sheet => sheet.scrollHeight <= sheet.clientHeight + 1)(document.querySelector('.panel .sheet'))"), "not all of its wavefronts are in sight"
    page.value("page.view.showPtx(0, 44)")
    same(page.value("byId('panel').querySelector('h3').textContent"), "1 wavefront, no conflicts", "of the instruction that something leads to")
    assert wavefronts(reports.LAYOUTS[0], reports.LAYOUTS[4], 2, (0, 1)) > wavefronts(reports.LAYOUTS[0], reports.LAYOUTS[5], 2, (0, 1)), "the swizzle is worth nothing: the test shows nothing"
    page.close()


def test_figures(setting):
    page = setting.open("one", "heat=cycles,sectors,wavefronts,instructions&panel=lines")
    cells = dict(page.value("""[...document.querySelectorAll('[aria-label="Source"] .row')].map(row => [row.querySelector('.no').textContent, [...row.querySelectorAll('.heat')].map(cell => cell.textContent)])"""))
    same(cells["13"], ["60.0 %", "1\u202f300", "", "8.00×"], "cells of line 13")
    same(cells["12"], ["16.0 %", "1\u202f200", "4.00×", ""], "cells of line 12")
    lines = "[...document.querySelectorAll('.panel tbody tr')].filter(row => row.dataset.link).map(row => row.firstChild.textContent)"
    same(page.value(lines), ["13", "14", "12", "11", "9"], "by cycles")
    panel = page.value("byId('panel').textContent")
    for word in ("By latency a program takes 10\u202f000 clocks; with 2 rounds of programs on an SM that makes 5.00 µs", "waits for others at add.s32 line 13, 1 × 4\u202f000 clocks, mostly for line 124\u202f000  40 %",
                 "waits for the result of add.s32 line 13, 2 × 1\u202f250 clocks2\u202f500  25 %", "waits elsewhere 3 places", "is in a queue for units that all warps together keep busy1\u202f200  12 %", "2\u202f345 clocks more, 12\u202f345 in all", "keep f32 busy",
                 "f322.50 µs", "What the 7.25 µs of the launch are", "empty launch0.25", "shared memory6.50", "others beside it0.40", "fetching code0.10", "sum7.25"):
        assert word in panel, f"the panel lacks {word}: {panel}"
    assert "votes" not in panel, "a unit that is no matter"
    same(page.value("[...document.querySelectorAll('.panel tbody tr')].filter(row => row.firstChild.textContent === '12').map(row => row.children[7].textContent)"), ["150"], "what is awaited of line 12 elsewhere, also by who waits for copies")
    head = '.panel th:nth-child(9)'
    page.click(head + " button")
    same(page.value(f"[{lines}, document.querySelector('{head}').getAttribute('aria-sort')]"), [["14", "13", "12", "11", "9"], "descending"], "by instructions")
    page.click(head + " button")
    same(page.value(f"[{lines}, document.querySelector('{head}').getAttribute('aria-sort')]"), [["9", "11", "12", "13", "14"], "ascending"])
    page.mouse(*page.box('[aria-label="Source"] [aria-posinset="12"] .heat'))
    note = page.value("byId('tip').textContent")
    assert "cycles 160 (16.0 %)" in note and "<b>nothing</b> is masked" in note and "mask=rows < K" in note, note
    same(page.value("[...document.querySelectorAll('.finding:nth-of-type(1) button')].map(button => button.textContent)"), ["PTX 222", "line 13", "why ▸"])
    page.click(".finding button:first-child")
    same(page.value("[page.steps[page.stage].id, page.view.panes[0].list.here]"), ["ptx", 221], "the PTX of the first finding")
    page.click(".finding .places button:nth-of-type(2)")
    same(page.value("page.pin"), 12, "the line of the first finding")
    same(page.value("(pane => pane.rows[pane.hottestOf(pane.rowsOfLink(page.pin))].line)(page.view.panes[0])"), 45, "where most clocks of line 13 go by")
    assert page.value("page.view.panes[0].list.inSight(45)"), "the hottest instruction of the line is not in sight"
    same(page.value("[...document.querySelectorAll('.finding .cost')].map(line => line.textContent)"), ["gains at most 2.90 µs of 7.25 µs (40 %) · 60 % of a warp's cycles", "gains at most 1.45 µs of 7.25 µs (20 %) · 55 % of a warp's cycles"])
    assert "a wait is in two shares" in page.value("document.querySelector('.overlap').textContent")
    text = page.value("byId('head').textContent")
    for word in ("product", "sm_90a", "40registers", "48 KiB", "shared memory", "25 %occupancy", "4 × 2 × 1", "12\u202f345", "7.25", "BLOCK=64", "num_stages=3", "Store the other way round."):
        assert word in text, f"the head lacks {word}: {text}"
    page.close()


def test_pictures(setting):
    page = setting.open("one", "panel=loops&dock=full")
    names = page.value("[...document.querySelectorAll('.bar[role=button]')].map(bar => bar.getAttribute('aria-label'))")
    same(len(names), 6, "three ops in two iterations")
    assert any("copy_block %3" in name and "iteration i + 1" in name and "for the iteration 2 later" in name and "clocks 200 to 550" in name for name in names), names
    page.value("document.querySelector('.bar[role=button]').focus()")
    same(page.value("page.hot"), 11, "a bar with the focus highlights its line")
    page.key("Enter")
    same(page.value("[page.pin, page.dock]"), [11, "full"], "and pins it, with the panels as they are")
    assert page.value("byId('told').textContent").startswith("line 12: "), "the status bar does not follow"
    page.go("panel=shared")
    page.until("document.querySelectorAll('.bar[role=button]').length === 2")
    boxes = page.value("[...document.querySelectorAll('.bar > rect')].map(bar => (box => [box.x, box.y, box.width, box.height])(bar.getBBox()))")
    same(round(boxes[0][3] / boxes[1][3], 2), 2.0, "heights as bytes")
    same(round(boxes[0][2] / boxes[1][2], 2), round(26 / 11, 2), "widths as steps")
    same(round(boxes[1][1] - boxes[0][1], 1), round(boxes[0][3], 1), "one below the other")
    assert "4.0 × the wavefronts of an access without conflicts" in page.value("document.querySelector('svg .bar').getAttribute('aria-label')")
    page.go("panel=registers")
    page.until("document.querySelector('.panel .curve')")
    peak = reports.report()["registers"]["lines"]
    assert f"PTX line {peak.index(max(peak)) + 1}: {max(peak)} values live, before allocation, the most" in page.value("document.querySelector('.panel svg').getAttribute('aria-label')")
    page.value("document.querySelector('.panel svg').focus()")
    page.key("Home")
    page.key("ArrowRight", 10)
    told = page.value("byId('told').textContent")
    assert told.startswith("PTX line 11: ") and "· add.s32 %r10, %r9, 12; · line 12: a = tl.load(a_ptr + rows)" in told.replace("\t", " ").replace("  ", " "), told
    texts = page.value("[...document.querySelectorAll('.panel svg text')].map(text => text.textContent)")
    for word in ("values of a thread that are live", "line of the PTX", "limit 64", "allocated 40"):
        assert word in texts, f"the chart lacks {word}: {texts}"
    for word in ("Limit: 64 registers, set by the compiler", "Allocated: 40 registers a thread, as ptxas says"):
        assert word in page.value("byId('panel').textContent"), word
    page.key("Enter")
    same(page.value("[page.steps[page.stage].id, page.view.panes[0].list.here]"), ["ptx", 10], "the line of the PTX")
    same(page.complaints, [])
    page.close()


def test_shares(setting):
    """Waits are shares of the same cycles as their neighbours."""
    page = setting.open("one", "heat=cycles,waits&panel=lines")
    cells = dict(page.value("""[...document.querySelectorAll('[aria-label="Source"] .row')].map(row => [row.querySelector('.no').textContent, [...row.querySelectorAll('.heat')].map(cell => cell.textContent)])"""))
    same(cells["13"], ["60.0 %", "2.6 %"])
    page.close()


def test_turns(setting):
    """A loop that ran is shown as it ran beside what schedules have; conflicts are pieces of their own. Each says which it is."""
    captions = "[...document.querySelectorAll('.panel figcaption')].map(caption => caption.textContent)"
    page = setting.open("one", "panel=loops&dock=full")
    page.until("document.querySelector('.panel svg')")
    found = page.value(captions)
    same(len(found), 1)
    assert found[0].startswith("Compiler's model of the schedule") and "No iteration as it ran was kept" in found[0], found
    page.close()
    page = setting.open("ran", "panel=loops&dock=full", SIZES[1])
    page.until("document.querySelectorAll('.panel svg.bar, .panel figure svg[role=group]').length === 2")
    found = page.value(captions)
    same([text.split(":")[0] for text in found], ["As it ran, by the simulator's clock", "Compiler's model of the schedule"])
    for word in ("warp 1 of program 2, iteration 8 of 16, 330 clocks, 130 of them in a queue for shared memory", "all warps together keep busy for 320 clocks per iteration"):
        assert word in found[0], f"the caption lacks {word}: {found[0]}"
    boxes = page.value("[...document.querySelectorAll('.panel figure')].map(figure => (box => [box.left, box.top])(figure.getBoundingClientRect()))")
    assert boxes[0][0] < boxes[1][0] and abs(boxes[0][1] - boxes[1][1]) < 2, f"not beside each other: {boxes}"
    names = page.value("[...document.querySelectorAll('.bar[role=button]')].map(bar => bar.getAttribute('aria-label'))")
    for word in ("clocks 60 to 100, of which 30 are replays of bank conflicts", "PTX 22 to 25, 4 instructions", "the warp stands still", "ends at 260", "shared memory: all 4 warps of a program keep it busy for 320 clocks per iteration: 300 wavefronts of shared memory, 20 lines of 128 bytes", "240 of the wavefronts are replays", "no warp goes on before shared memory has done what all of them ask for", "clocks 200 to 330"):
        assert any(word in name for name in names), f"no bar says {word}: {names}"
    shares = page.value("[...document.querySelectorAll('.replays')].map(mark => mark.getBBox().width / mark.parentNode.querySelector('rect').getBBox().width)")
    same([round(share, 2) for share in shares], [0.75, 0.75], "replays of the store in both iterations")
    same(page.complaints, [])
    page.close()


CLASHES = """[...document.querySelectorAll('.panel svg:not(svg svg)')].flatMap(picture => {
    const frame = picture.getBoundingClientRect(), texts = [...picture.querySelectorAll('text')].filter(text => text.textContent).map(text => [text.textContent, text.getBoundingClientRect()]);
    const cut = texts.filter(([, box]) => box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 3 || box.bottom > frame.bottom + 3).map(([text]) => `cut: ${text}`);
    const on = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 4 && b.top < a.bottom - 4;
    return cut.concat(texts.flatMap(([text, box], index) => texts.slice(index + 1).filter(([, other]) => on(box, other)).map(([other]) => `${text} on ${other}`)));
})"""


def test_texts_of_pictures(setting):
    for name, panels in (("ran", ("loops", "shared", "registers", "banks")), ("one", ("loops",))):
        for size, dock in ((SIZES[0], "open"), (SIZES[1], "open"), ((700, 600), "open"), (SIZES[0], "full")):
            page = setting.open(name, size=size)
            for panel in panels:
                page.value(f"setDock('{dock}'), showPanel('{panel}')")
                page.until("document.querySelector('.panel svg text')")
                page.settle()
                same(page.value(CLASHES), [], f"{panel} of {name} at {size}")
            page.close()
