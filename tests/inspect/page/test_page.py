#!/usr/bin/env python3
"""test_page.py ASSETS [--shots FOLDER] [--only NAME]: the page of `tilec explain` in a headless Chromium. Exits with 77 where there is none; TILEC_CHROMIUM names another
program. --shots leaves pictures of the page to look at."""
import argparse
import itertools
import os
import random
import re
import shutil
import sys
import tempfile
import time
import traceback

import reports
import test_colors
import test_panels
from devtools import Browser
from setting import SIZES, Setting, check_fits, lines_of, linked, row, same


def test_loads(setting):
    """No complaint, nothing asked of a network, nothing wider than the window, light and small, dark and large."""
    for name in ("one", "two", "empty", "long"):
        page = setting.open(name)
        same(page.requests, ["file://" + setting.made[name]], "requests")
        for size, dark in zip(SIZES, (False, True)):
            page.resize(*size)
            page.dark(dark)
            page.settle()
            check_fits(page, f"{name} at {size}")
        same(page.complaints, [], name)
        page.close()


def test_texts(setting):
    """Texts of the report are texts; scripts cannot be left."""
    page = setting.open("one", "panel=remarks")
    same(page.value("document.querySelectorAll('img, b b, .panel b').length"), 0, "elements made of texts")
    assert "<b>nothing</b> is masked" in page.value("byId('panel').textContent")
    assert "</script><img src=x onerror=alert(1)>" in page.value("page.view.source.list.room.textContent + page.view.source.textAt(7)")
    page.close()
    html, style, script = reports.assets(setting.assets)
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "fetch(", "XMLHttp", "import(", "WebSocket", "</script", "http:", "https:"):
        assert word not in script.replace('"http://www.w3.org/2000/svg"', ""), f"{word} in a script"
    assert not re.search(r"url\(|@import|https?:", style) and "<script src" not in html and "<link rel=\"stylesheet" not in html


def test_links(setting):
    """The line below the mouse has its code highlighted in the other pane, both ways; a click keeps it."""
    page = setting.open("one", "stage=02-second")
    for line in (12, 13, 8):
        page.mouse(*page.box(row("Source", line)))
        same(linked(page, "Stage"), lines_of(reports.SECOND_AT, line), f"stage lines of line {line}")
        same(linked(page, "Source"), [line], "the line itself")
    page.mouse(*page.box(row("Source", 5)))
    same(linked(page, "Stage"), [], "of a line without code")
    for at, place in enumerate(reports.SECOND_AT):
        if place and place[1] in (9, 12, 14):
            page.mouse(*page.box(row("Stage", at + 1)))
            same(linked(page, "Source"), [place[1]], f"source of stage line {at + 1}")
    page.click(row("Source", 12))
    page.mouse(*page.box(row("Source", 14)))
    same(linked(page, "Stage"), sorted(lines_of(reports.SECOND_AT, 12) + lines_of(reports.SECOND_AT, 14)), "the pinned line and the one below the mouse")
    page.click("#told")
    page.until("location.hash.includes('line=0:12')")
    page.key("Escape")
    same(linked(page, "Stage"), [], "after Escape")
    hues = page.value("[...page.hues.values()]")
    assert all(a != b for a, b in zip(hues, hues[1:])), "neighbours of one hue"
    same(page.value("page.hues.size"), len({place[1] for stage in reports.report()["stages"] for place in stage["at"] if place}), "lines with a hue")
    page.close()


def test_first_line(setting):
    """Lines of a source that is a part of a file have the file's numbers."""
    page = setting.open("moved", "stage=02-second")
    page.mouse(*page.box(row("Source", 13)))
    same([linked(page, "Source"), linked(page, "Stage")], [[113], lines_of(reports.SECOND_AT, 13)])
    same(page.value("document.querySelector('.finding .places button:nth-of-type(2)').textContent"), "line 113")
    page.close()


def test_keys(setting):
    page = setting.open("one", "stage=02-second&line=0:8")
    page.key("s")
    same(page.value("document.activeElement.getAttribute('aria-label')"), "Source")
    page.key("g")
    page.key("j", 8)
    page.key("ArrowDown", 3)
    same(page.value("page.view.source.list.here"), 11)
    same(linked(page, "Stage"), [3] + lines_of(reports.SECOND_AT, 12), "by keys: the pinned line and this one")
    assert "line 12" in page.value("byId('told').textContent") and "sectors 4\u202f096 (ideal 1\u202f024)" in page.value("byId('told').textContent")
    page.key("Enter")
    same(page.value("page.pin"), 11)
    page.key("o")
    same(page.value("[document.activeElement.getAttribute('aria-label'), page.view.panes[0].list.here]"), ["Stage", 5], "across")
    page.key("o")
    same(page.value("[document.activeElement.getAttribute('aria-label'), page.view.source.list.here]"), ["Source", 11], "and back")
    page.key("[")
    same(page.value("page.steps[page.stage].id"), "01-first")
    page.key("]", 2)
    same(page.value("page.steps[page.stage].id"), "ptx")
    page.key("[")
    page.key("Escape")
    same(page.value("page.pin"), -1)
    page.key("/")
    page.type("acc")
    same(page.value("document.activeElement.getAttribute('aria-label')"), "Search in Source")
    same(page.value("page.view.source.found.textContent"), "2 of 3", "matches, from the cursor on")
    page.key("Enter")
    same(page.value("page.view.source.list.here"), 13)
    page.key("Escape")
    same(page.value("[page.view.source.search.hidden, document.activeElement.getAttribute('aria-label')]"), [True, "Source"])
    for number, panel in enumerate(("lines", "layouts", "banks", "loops", "shared", "registers", "remarks"), 1):
        page.key(str(number))
        same(page.value("page.panel"), panel, f"key {number}")
    page.key("0")
    same(page.value("byId('panel').getBoundingClientRect().height"), 0, "a closed panel")
    page.key("0")
    page.key("f")
    assert page.value("byId('panel').getBoundingClientRect().height") > 500
    page.key("f")
    page.key("?")
    assert page.value("byId('help').open")
    page.key("Escape")
    assert not page.value("byId('help').open")
    before = page.value("page.heat.join()")
    page.key("h")
    same(page.value("[page.heat.length, document.querySelectorAll('.row .heat').length]"), [0, 0], "no columns")
    page.key("h")
    assert before and page.value("document.querySelectorAll('.row .heat').length") > 0
    same(page.complaints, [])
    page.close()


def test_tab_order(setting):
    """Tab goes through all that can be used and comes around; nothing holds it."""
    page = setting.open("one", "panel=layouts")
    seen = []
    for _ in range(80):
        page.key("Tab", settle=False)
        seen.append(page.value("(e => e.getAttribute('aria-label') || e.id || e.textContent)(document.activeElement)"))
    for name in ("Source", "Stage", "Previous stage", "Help: keys and colours", "Width of the source", "Height of the panels"):
        assert name in seen, f"Tab does not reach {name}: {seen}"
    page.close()


# All that can be used and is there, as numbers that Tab should come by; a picture of bars is one stop.
REACHABLE = """(() => {
    window.stops = [...document.querySelectorAll('button, select, input, [tabindex]')].filter(node => node.tabIndex >= 0 && !node.disabled && node.checkVisibility({ visibilityProperty: true }) && node.getBoundingClientRect().width > 0);
    return stops.length; })()"""
FOCUSED = """(node => {
    const style = getComputedStyle(node), shape = node.matches('svg .bar') && getComputedStyle(node.querySelector('rect'));
    const row = node.matches('.lines') && node.querySelector('.row.here') && getComputedStyle(node.querySelector('.row.here'));
    const shown = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1 || shape && parseFloat(shape.strokeWidth) >= 2 || row && row.outlineStyle !== 'none';
    return [stops.indexOf(node), Boolean(shown), node.getAttribute('aria-label') || node.textContent.slice(0, 30)]; })(document.activeElement)"""


def test_reachable(setting):
    """By Tab alone one comes by everything that can be used, and sees where one is."""
    for name, panel in (("ran", "lines"), ("ran", "loops"), ("ran", "shared"), ("ran", "registers"), ("one", "layouts"), ("one", "banks"), ("one", "remarks"), ("two", "lines")):
        page = setting.open(name, f"panel={panel}")
        page.until("byId('panel').childElementCount")
        for _ in range(3):  # pictures are drawn anew when their place has got its size
            page.settle()
        left = set(range(page.value(REACHABLE)))
        for _ in range(len(left) + 12):
            page.key("Tab", settle=False)
            index, shown, label = page.value(FOCUSED)
            assert shown or index < 0, f"{name}, {panel}: one does not see that {label} has the focus"
            left.discard(index)
        same([page.value(f"(node => node.getAttribute('aria-label') || node.textContent || node.outerHTML)(stops[{index}])") for index in sorted(left)], [], f"{name}, {panel}: not reached by Tab")
        page.close()


def test_changes(setting):
    page = setting.open("one", "stage=02-second")
    signs = page.value("""page.view.panes[0].rows.map(row => [row.line, row.sign || "", row.gone || 0])""")
    # The product took another number; only the copy, what it is loaded from and the constant differ
    same([line for line, sign, _ in signs if sign == "+"], [5, 6], "new lines")
    same(sum(gone for *_, gone in signs), 2, "lines that went")
    same(page.value("page.view.summary.textContent"), "+2 −2")
    page.key("x")
    same(page.value("page.changes"), "removed")
    same(page.value("page.view.panes[0].rows.filter(row => row.line < 0).map(row => row.text)"), [reports.FIRST[4], reports.FIRST[6]])
    page.value("page.view.panes[0].list.box.focus()")
    page.key("g")
    page.key("c")
    first = page.value("page.view.panes[0].list.here")
    page.key("c")
    assert page.value("page.view.panes[0].list.here") > first == 4
    page.key("C")
    same(page.value("page.view.panes[0].list.here"), first)
    page.close()


def test_differences(setting):
    """Pairs of equal lines of random texts: equal, rising, and as many as there can be where no line is an anchor."""
    page = setting.open("empty")
    chance = random.Random(7)
    for size in (0, 1, 5, 12, 30):
        for alphabet in ("ab", "abcdefgh", "abcdefghijklmnopqrstuvwxyz"):
            a, b = ([chance.choice(alphabet) for _ in range(size)] for _ in range(2))
            pairs = page.value(f"samePairs({a}, {b})")
            assert all(a[i] == b[j] for i, j in pairs) and all(p[0] < q[0] and p[1] < q[1] for p, q in zip(pairs, pairs[1:])), (a, b, pairs)
            if not any(a.count(x) == b.count(x) == 1 for x in a):
                best = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
                for i, j in itertools.product(range(len(a)), range(len(b))):
                    best[i + 1][j + 1] = best[i][j] + 1 if a[i] == b[j] else max(best[i][j + 1], best[i + 1][j])
                same(len(pairs), best[-1][-1], f"{a} against {b}")
            rows = page.value(f"alignedRows({a}, {b}, samePairs({a}, {b}), true)")
            same([[i for i, *_ in rows if i >= 0], [j for _, j, _ in rows if j >= 0]], [list(range(len(a))), list(range(len(b)))], "rows")
    page.close()


def test_long(setting):
    """Ten thousand lines are some dozens of elements, and are found and scrolled to at once."""
    page = setting.open("long", "stage=ptx&dock=closed")
    same(page.value("page.view.panes[0].list.count"), 10000)
    most = page.value("""(async () => {
        const box = page.view.panes[0].list.box;
        let most = 0;
        for (let step = 0; step < 40; step++) {
            box.scrollTop += 3000;
            await new Promise(done => requestAnimationFrame(done));
            most = Math.max(most, box.querySelectorAll('.row').length);
        }
        return most;
    })()""")
    assert most < 150, f"{most} rows are elements"
    same(page.value("""(async () => {
        const list = page.view.panes[0].list, draw = list.drawOverview;
        let times = 0;
        list.drawOverview = function () { times++; draw.call(this); };
        const before = list.sight.getBoundingClientRect().top;
        list.box.scrollTop = 0;
        for (let step = 0; step < 5; step++)
            await new Promise(done => requestAnimationFrame(done));
        list.drawOverview = draw;
        return [times, list.sight.getBoundingClientRect().top < before];
    })()"""), [0, True], "scrolling moves the mark of what is in sight, and draws no overview anew")
    page.value("page.view.panes[0].list.box.focus()")
    page.key("G")
    same(page.value("document.querySelector('[aria-label=\"Stage\"] [aria-posinset=\"10000\"] .text').textContent"), "}")
    page.key("/")
    page.type("%r5000, ")
    same(page.value("page.view.panes[0].found.textContent"), "1 of 2")
    page.key("Enter")
    assert page.value("[...document.querySelectorAll('[aria-label=\"Stage\"] .row.found mark')].map(mark => mark.textContent).join('')") == "%r5000, "
    page.close()


def test_waits(setting):
    """A line that waits says for which one, and that one who waits for it; both lead to the other end, by mouse and by keys."""
    page = setting.open("one", "stage=ptx&heat=cycles,caused")
    notes = dict(page.value("""[...document.querySelectorAll('[aria-label="Source"] .row')].map(row => [row.querySelector('.no').textContent, row.querySelector('.inlay')?.textContent || ""])"""))
    same([line for line, note in notes.items() if note], ["12", "13"])
    same([notes["12"], notes["13"]], ["awaited 15 % by line 13", "waits 15 % for line 12"])
    cells = dict(page.value("""[...document.querySelectorAll('[aria-label="Source"] .row')].map(row => [row.querySelector('.no').textContent, [...row.querySelectorAll('.heat')].map(cell => cell.textContent)])"""))
    same([cells["12"], cells["13"]], [["16.0 %", "31.0 %"], ["60.0 %", "45.0 %"]], "cycles, and cycles by cause")
    parts = page.value("""(style => ["--works", "--waits"].map(name => parseFloat(style.getPropertyValue(name))))(document.querySelector('[aria-label="Stage"] [aria-posinset="46"] .heat').style)""")
    same([sum(parts), round(parts[1] / sum(parts), 2)], [58, 0.69], "the part of waiting is hatched")
    page.click('[aria-label="Source"] [aria-posinset="13"] .inlay button')
    same(page.value("page.pin"), 11, "what line 13 waits for")
    page.value("page.view.panes[0].list.box.focus(), page.view.panes[0].list.go(45, true)")
    page.key("u")
    same(page.value("page.view.panes[0].list.here"), 39, "to what the instruction waits for")
    page.key("U")
    same(page.value("page.view.panes[0].list.here"), 45, "and back")
    page.key("s")
    page.key("U")
    same(page.value("page.pin"), 12, "to the line that waits for line 12")
    page.key("1")
    assert "line 12" in page.value("[...document.querySelectorAll('.panel tbody tr')].find(row => row.firstChild.textContent === '13').textContent"), "the table does not say for what"
    same(page.value("document.querySelectorAll('.finding')[1].querySelector('.figures').textContent"), "Waited for at line 13 (add.s32, 15 %)")
    page.key("h")
    same(page.value("document.querySelectorAll('.inlay').length"), 0, "notes without columns of figures")
    same(page.complaints, [])
    page.close()


def test_finding_links(setting):
    """A finding leads to its hottest instruction, and then to the others."""
    page = setting.open("one")
    button = "document.querySelectorAll('.finding')[1].querySelector('button')"
    for key, text, here in ((None, "PTX 40, instruction 1 of 2", None), ("Enter", "PTX 40, instruction 1 of 2", 39), ("Enter", "PTX 14, instruction 2 of 2", 13), ("Enter", "PTX 40, instruction 1 of 2", 39)):
        page.value(f"{button}.focus()")
        if key:
            page.key(key)
        same(page.value(f"{button}.textContent"), text)
        if here is not None:
            same(page.value("[page.steps[page.stage].id, page.view.panes[0].list.here]"), ["ptx", here])
    page.value(f"{button}.dispatchEvent(new MouseEvent('click', {{shiftKey: true}}))")
    same(page.value(f"{button}.textContent"), "PTX 14, instruction 2 of 2", "the one before")
    page.close()


# Advice of findings that is not in sight as a whole, and columns of tables that are not.
UNSEEN = """(() => {
    const seen = (node, frame) => { const box = node.getBoundingClientRect(), edge = frame.getBoundingClientRect(); return box.height > 0 && box.top >= edge.top - 1 && box.bottom <= edge.top + frame.clientHeight + 1 && box.left >= edge.left - 1 && box.right <= edge.left + frame.clientWidth + 1; };
    const advice = [...document.querySelectorAll('.finding .try')].filter(node => !seen(node, document.querySelector('.findings')) || !seen(node, node.parentNode));
    const columns = [...document.querySelectorAll('.panel table.figures')].flatMap(table => [...table.querySelectorAll('th')].filter(head => !(box => box.right <= (edge => edge.left + head.closest('.column, .panel').clientWidth + 1)(head.closest('.column, .panel').getBoundingClientRect()))(head.getBoundingClientRect()) || head.firstChild?.scrollWidth > head.clientWidth + 1));
    return [...advice, ...columns].map(node => node.textContent);
})()"""


def test_in_sight(setting):
    """What to try, and every column, can be read without scrolling; why and the figures are there on demand."""
    for size, dark in (((1600, 1000), False), ((1280, 720), True)):
        page = setting.open("wide", "panel=lines", size, dark)
        same(page.value("[...document.querySelectorAll('.finding .try')].length"), 4)
        same(page.value(UNSEEN), [], f"cut at {size}")
        assert page.value("byId('head').getBoundingClientRect().height") <= 0.45 * size[1], "the head leaves no room"
        same(page.value("[...document.querySelectorAll('.finding .more')].map(more => more.checkVisibility())"), [False] * 4)
        for panel in ("registers", "shared", "remarks"):
            page.value(f"showPanel('{panel}')")
            page.settle()
            same(page.value(UNSEEN), [], f"{panel} at {size}")
        page.value("document.querySelector('.finding button[aria-expanded]').focus()")
        page.key("Enter")
        same(page.value("[...document.querySelectorAll('.finding .more')].map(more => more.checkVisibility())"), [True, False, False, False], "of one finding")
        page.key("w")
        same(page.value("[...document.querySelectorAll('.finding .more')].map(more => more.checkVisibility())"), [True] * 4, "of all")
        check_fits(page, "with why")
        assert page.value("document.querySelector('.findings').clientHeight") <= size[1] / 3 + 1, "findings are higher than a third of the window"
        page.until("location.hash.includes('why=on')")
        page.key("w")
        same(page.value(UNSEEN), [], "folded again")
        page.close()


def test_follows(setting):
    """What follows from a finding stands behind it and says so; what costs nothing looks like nothing that does."""
    page = setting.open("wide")
    same(page.value("[...document.querySelectorAll('.finding')].map(card => [card.querySelector('.title').textContent, card.querySelector('.from')?.textContent || '', card.className])"),
         [["a product by threads", "", "finding"], ["few words", "↳ follows from 1, line 13: its gain is part of that one's", "finding follows"], ["bank conflicts", "", "finding"], ["fewer programs", "", "finding aside"]])
    same(page.value("[...document.querySelectorAll('.finding')].map(card => card.querySelector('.cost')?.textContent || '')"),
         ["gains at most 4.00 µs of 7.25 µs (55 %), with what follows from it · 60 % of a warp's cycles", "gains at most 1.00 µs of 7.25 µs (14 %) · 20 % of a warp's cycles", "gains at most 2.50 µs of 7.25 µs (34 %), about 2.25 µs once 1 is mended · 30 % of a warp's cycles", ""])
    same(page.value("[...document.querySelectorAll('.finding .number')].map(number => number.textContent)"), ["1", "3", "2", "4"], "numbers as in the report")
    page.click(".finding .from button")
    same(page.value("page.pin"), 12, "to the line of the cause")
    page.close()


def test_told(setting):
    """The status bar says where one is, whatever led there; keys that do nothing say why."""
    page = setting.open("one", "stage=ptx&heat=cycles,caused")
    page.click('[aria-label="Source"] [aria-posinset="13"] .inlay button, [aria-label="Source"] [aria-posinset="13"] .sign button')
    page.value("page.view.source.list.box.focus()")
    page.key("s")
    page.key("U")
    assert page.value("byId('told').textContent").startswith("line 13: waits 15 % for line 12"), page.value("byId('told').textContent")
    page.key("u")
    assert page.value("byId('told').textContent").startswith("line 12: awaited 15 % by line 13"), page.value("byId('told').textContent")
    page.key("r")
    same(page.value("byId('told').textContent"), "there is no other report on this page")
    page.key("9")
    assert page.value("byId('told').textContent").startswith("there is no panel 9: 7 panels")
    page.value("page.view.source.list.box.focus()")
    page.key("/")
    page.type("add.s32")
    assert page.value("page.view.source.found.textContent").startswith("0 of 0, 295 in Stage"), page.value("page.view.source.found.textContent")
    page.close()


def test_help(setting):
    """It opens at its beginning, however low the window."""
    page = setting.open("one", size=(1280, 720))
    for _ in range(2):
        page.key("?")
        same(page.value("(help => [help.open, help.scrollTop, help.contains(document.activeElement)])(byId('help'))"), [True, 0, True])
        page.key("Escape")
        same(page.value("byId('help').open"), False)
    page.close()


def test_notes_beside_code(setting):
    """Notes of waits lie on no code: where a line is too long an arrow in the gutter leads there."""
    lying = """[...document.querySelectorAll('.row')].filter(row => { const [text, note] = ['.text', '.inlay'].map(name => row.querySelector(name)); if (!note) return false;
        const range = document.createRange(); range.selectNodeContents(text); return range.getBoundingClientRect().right > note.getBoundingClientRect().left; }).length"""
    for width in (1600, 1280, 900):
        page = setting.open("one", "stage=ptx&heat=cycles,caused,waits,sectors", (width, 800))
        same(page.value(lying), 0, f"at {width}")
        same(page.value("""[12, 13].map(line => document.querySelector(`[aria-label="Source"] [aria-posinset="${line}"]`).querySelectorAll('.inlay button, .sign button').length)"""), [1, 1], f"notes at {width}")
        page.close()
    page = setting.open("one", "stage=ptx&heat=cycles,caused", (1600, 800))
    note = """document.querySelector('[aria-label="Source"] [aria-posinset="13"]').querySelector('.inlay button, .sign button').textContent"""
    same(page.value(note), "waits 15 % for line 12")
    page.resize(900, 800)
    page.settle()
    page.settle()
    assert page.value(note) in ("waits 15 %", "→"), "a narrower window"
    page.close()


def test_panel_heights(setting):
    """Charts and pictures are as high as their panel when it gets higher; wavefronts that have no room are told."""
    page = setting.open("one", "panel=registers", (1280, 720))
    page.until("document.querySelector('.panel svg .curve')")
    before = page.value("document.querySelector('.panel svg').getBoundingClientRect().height")
    page.key("f")
    page.settle()
    after, room = page.value("[document.querySelector('.panel svg').getBoundingClientRect().height, document.querySelector('.panel .sheet').clientHeight]")
    assert after > before + 100 and after > room - 40, (before, after, room)
    page.mouse(*page.value("(box => [box.left + box.width / 2, box.top + box.height / 2])(document.querySelector('.panel svg').getBoundingClientRect())"))
    assert re.match(r"PTX line \d+: \d+ values live", page.value("byId('tip').hidden ? '' : byId('tip').textContent")), "hovering says no value"
    page.key("f")
    page.value("showPanel('banks')")
    page.settle()
    same(page.value("document.querySelector('.panel svg').textContent.match(/and \\d+ wavefronts more/) !== null"), True)
    assert page.value("Math.min(...[...document.querySelectorAll('.panel svg .bar rect')].map(cell => cell.getBBox().height))") >= 10, "cells are too low to read"
    page.close()


# Texts of the pictures of a panel that are cut by their picture, or lie on each other.


def test_one_stop(setting):
    """Bars of a picture are one stop of the Tab key, arrow keys move among them; those of tabs pass over what is not there."""
    page = setting.open("ran", "panel=loops&dock=full")
    page.until("document.querySelector('.bar[role=button]')")
    same(page.value("[...document.querySelectorAll('.panel figure')].map(figure => figure.querySelectorAll('.bar[tabindex=\"0\"]').length)"), [1, 1])
    page.value("document.querySelector('.bar[role=button]').focus()")
    bar = "[...document.querySelectorAll('.panel figure')][0].querySelectorAll('.bar')"
    page.key("ArrowRight")
    assert page.value(f"document.activeElement === {bar}[1] && {bar}[1].getAttribute('tabindex') === '0'"), "the next bar"
    page.key("End")
    page.key("ArrowRight")
    assert page.value(f"document.activeElement === {bar}[0]"), "around the end"
    page.key("Escape")
    same(page.value("page.dock"), "open", "Escape leaves panels over the whole page")
    page.close()
    page = setting.open("no remarks")
    page.value("byId('tab-lines').focus()")
    for name in ("registers", "shared"):
        page.key("ArrowLeft")
        same(page.value("[document.activeElement.id, page.panel]"), ["tab-" + name, name], "tabs that are hidden are passed over")
    page.close()


def test_fragment(setting):
    """The address keeps what is shown."""
    page = setting.open("one")
    page.key("]")
    page.click(row("Source", 13))
    page.key("2")
    page.value("page.layoutView.choose(1)")
    page.value("page.view.setChanges('off')")
    page.key("t")
    page.value("keepNow()")
    fragment = page.value("location.hash.slice(1)")
    state = "[page.stage, page.pin, page.panel, page.layout, page.changes, page.theme, page.heat.join()]"
    wanted = page.value(state)
    same(wanted[:6], [2, 12, "layouts", 1, "off", "light"])
    page.close()
    page = setting.open("one", fragment)
    same(page.value(state), wanted, fragment)
    page.go("stage=nothing&line=9:99&panel=none&heat=x&layout=77&dock=x&theme=x&changes=x")
    same(page.complaints, [], "of a fragment that makes no sense")
    page.close()


def test_empty(setting):
    page = setting.open("empty")
    same(page.value("[...document.querySelectorAll('[role=tab]')].filter(tab => !tab.hidden).length"), 0, "tabs")
    why = page.value("document.querySelector('.why').textContent")
    for word in ("lines:", "layouts:", "banks:", "loops:", "shared memory:", "registers:", "remarks:"):
        assert word in why, f"{word} is not told of: {why}"
    assert "no findings" in page.value("byId('head').textContent")
    same(page.value("document.querySelectorAll('.row .heat').length"), 0)
    same(page.complaints, [])
    page.close()
    path = os.path.join(setting.folder, "idle.html")
    reports.write_page(setting.assets, {**reports.empty(), "registers": {"limit": 255, "lines": [0]}}, path)
    page = setting.browser.open("file://" + path)
    page.until("'ready' in document.documentElement.dataset")
    assert "registers: none are live" in page.value("document.querySelector('.why').textContent"), "a chart of nothing"
    page.close()
    path = os.path.join(setting.folder, "least.html")
    reports.write_page(setting.assets, {"version": 1, "kernel": "least", "target": "sm_80"}, path)
    page = setting.browser.open("file://" + path)
    page.until("'ready' in document.documentElement.dataset")
    assert "The report has no stages." in page.value("document.body.textContent")
    for key in "jkosxhcCnN[]0frtw1/":
        page.key(key)
    same(page.complaints, [], "of a report without members")
    page.close()
    for text, wanted in (("[]", "holds no report"), ('{"version": 2}', "form 2"), ("{", "cannot be read")):
        path = os.path.join(setting.folder, "wrong.html")
        reports.write_page(setting.assets, {}, path)
        with open(path, encoding="utf-8") as file:
            page_text = file.read().replace('id="report">\n{}', 'id="report">\n' + text)
        with open(path, "w", encoding="utf-8") as file:
            file.write(page_text)
        page = setting.browser.open("file://" + path)
        page.until(f"document.body.textContent.includes('{wanted}')")
        page.close()


def test_two(setting):
    page = setting.open("two", "stage=01-first")
    head = page.value("byId('head').textContent")
    for word in ("−20 % better", "+33 % worse", "--num-stages 2", "num_stages=2"):
        assert word in head, f"the head lacks {word}: {head}"
    same(page.value("[...document.querySelectorAll('.finding h2')].map(title => [...title.querySelectorAll('.side')].map(side => side.textContent).join(''))"), ["AB", "AB"], "what both find alike is told once")
    same(page.value("[...document.querySelectorAll('.sides thead th')].filter((_, index) => document.querySelectorAll('.sides tbody tr')[0].children[index + 1].classList.contains('same')).map(head => head.textContent).includes('registers')"), False, "what differs is not dim")
    same(page.value("document.querySelectorAll('.sides td.same').length > 10"), True, "what does not differ is dim")
    rows = page.value("page.view.panes.map(pane => pane.rows.map(row => [row.line, row.sign]))")
    same(len(rows[0]), len(rows[1]), "rows beside each other")
    same([line for line, sign in rows[1] if sign], [index for index, line in enumerate(reports.FIRST) if "64x64xf16" in line], "lines that differ")
    # One source: the added line stands in it, and code of both is found by what is the same line of both
    same(page.value("[...document.querySelectorAll('[aria-label=\"Source\"] .row.added .text')].map(row => row.textContent)"), ["    half = BLOCK // 2"])
    dot = page.value("page.files[0].rows.findIndex(row => row.text.includes('tl.dot')) + 1")
    page.value(f"page.view.source.list.go({dot - 1}, true)")
    page.settle()
    page.mouse(*page.box(row("Source", dot)))
    same([linked(page, "Stage of A"), linked(page, "Stage of B")], [[8], [8]])
    same(page.value("page.files[0].rows[page.hot].lines"), [13, 14])
    page.value("page.view.choose(page.steps.findIndex(step => step.id === '02-second'))")
    assert page.value("page.view.panes[1].empty.textContent").startswith("This compilation does not have the stage")
    page.value("page.view.choose(page.steps.findIndex(step => step.id === 'ptx'))")
    page.value("page.view.panes[0].list.box.scrollTop = 800")
    page.settle()
    page.settle()
    same(page.value("page.view.panes[1].list.box.scrollTop"), 800, "scrolled together")
    page.key("r")
    same(page.value("page.side"), 1)
    page.until("location.hash.includes('report=B')")
    same(page.complaints, [])
    page.close()


def test_names(setting):
    """Everything that can be used has a name for those who do not see it."""
    roles = {"button", "combobox", "textbox", "searchbox", "spinbutton", "listbox", "option", "tab", "tabpanel", "tablist", "splitter", "application", "table", "dialog", "region", "image"}
    for name, panels in (("one", ("lines", "layouts", "banks", "loops", "shared", "registers", "remarks")), ("two", ("lines",))):
        page = setting.open(name)
        page.value("page.view.source.openSearch()")
        for panel in panels:
            page.value(f"showPanel('{panel}')")
            page.settle()
            for node in page.ask("Accessibility.getFullAXTree")["nodes"]:
                role, text = node.get("role", {}).get("value"), node.get("name", {}).get("value", "")
                if not node.get("ignored") and role in roles:
                    blank = role == "option" and node.get("properties") is not None and text == ""
                    assert text.strip() or blank, f"{name}, {panel}: a {role} without a name: {node}"
        page.close()
    page = setting.open("one")
    same(page.value("[...document.querySelectorAll('[role=listbox]')].map(list => Boolean(document.getElementById(list.getAttribute('aria-activedescendant') || 'x')) || list.className === 'pick')"), [True, True], "the active line of lists")
    page.close()


def shots(setting, folder):
    os.makedirs(folder, exist_ok=True)
    panels = ("lines", "layouts", "banks", "loops", "shared", "registers", "remarks")
    for name, panel, dark, size in itertools.product(("one", "two"), panels, (False, True), SIZES):
        page = setting.open(name, f"panel={panel}&line=0:13", size, dark)
        page.screenshot(os.path.join(folder, f"{name}-{panel}-{'dark' if dark else 'light'}-{size[0]}.png"))
        page.close()


def all_tests(only):
    return [(name, test) for module in (sys.modules[__name__], test_panels, test_colors) for name, test in vars(module).items()
            if name.startswith("test_") and callable(test) and only in name]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assets")
    parser.add_argument("--shots")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    program = os.environ.get("TILEC_CHROMIUM") or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not program:
        print("there is no Chromium")
        return 77
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, Browser(program) as browser:
        setting = Setting(browser, folder, options.assets)
        if options.shots:
            shots(setting, options.shots)
            return 0
        for name, test in all_tests(options.only):
            start = time.monotonic()
            try:
                test(setting)
                print(f"ok {name} {time.monotonic() - start:.1f} s")
            except Exception:
                wrong += 1
                print("WRONG", name)
                traceback.print_exc(file=sys.stdout)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
