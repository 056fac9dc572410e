"""form.py REPORT.json [PAGE.html]: every member of docs/inspecting.md's form is there with its type, numbers of sources, lines and stages lead somewhere,
and the page's script element holds the same object."""
import html.parser
import json
import sys

NUMBER = (int, float)
COUNTS = {"warps": int, "threads": int, "divergent": int, "sectors": int, "ideal_sectors": int, "wavefronts": int, "ideal_wavefronts": int,
          "words": int, "first_words": int, "own_words": int,
          "wait_cycles": NUMBER, "cycles": NUMBER, "awaited_cycles": NUMBER, "held_cycles": NUMBER, "queued_cycles": NUMBER, "shared_clocks": NUMBER}
TRAFFIC = {"moved": int, "used": int, "distinct": int}
TIME = {"microseconds": NUMBER, "unit": str, "units": dict, "bounds": dict, "parts": {"launch": NUMBER, "longest": NUMBER, "beside": NUMBER, "uneven": NUMBER, "code": NUMBER, "name": str}}
PLACE = "a place"
FORM = {
    "version": int, "kernel": str, "target": str, "tilec": str,
    "options": {"num_warps": int, "num_stages": int, "num_ctas": int, "label": str, "constexprs": dict, "signature": [str], "parameters": [str]},
    "facts": {"warps": int, "stages": int, "ctas": int, "programs_per_cta": int, "teams": int, "threads": int, "persistent": bool, "registers": int,
              "registers_estimated": bool, "spill_stores": int, "spill_loads": int, "shared": int, "ctas_per_sm": int, "warps_per_sm": int,
              "max_warps_per_sm": int, "occupancy": NUMBER, "limited_by": str},
    "sources": [{"path": str, "first_line": int, "text": str}],
    "stages": [{"id": str, "kind": str, "title": str, "summary": str, "lines": [str], "at": [PLACE]}],
    "remarks": [{"at": PLACE, "column": int, "severity": str, "name": str, "text": str, "help": str, "notes": [{"at": PLACE, "text": str}]}],
    "layouts": [{"name": str, "stage": str, "memory": str, "shape": [int], "type": str, "element_bytes": int, "reg": [[int]], "lane": [[int]],
                 "warp": [[int]], "block": [[int]], "values": [str], "at": [PLACE]}],
    "shared": {"bytes": int, "program_bytes": int, "limit": int, "steps": int,
               "buffers": [{"name": str, "at": PLACE, "offset": int, "bytes": int, "copies": int, "from": int, "to": int, "type": str,
                            "banks": {"read": (*NUMBER, type(None)), "written": (*NUMBER, type(None))}}]},
    "registers": {"limit": int, "limit_by": str, "dropped": int, "taken": int, "lines": [int]},
    "loops": [{"at": PLACE, "stages": int, "asked": int, "asked_by": str, "once": bool, "trips": (int, type(None)), "turns": (*NUMBER, type(None)), "turn_cycles": (*NUMBER, type(None)),
               "roles": [{"name": str, "warps": str, "clocks": NUMBER, "units": [{"name": str, "clocks": NUMBER, "wavefronts": NUMBER, "replays": NUMBER}],
                          "ops": [{"text": str, "kind": str, "at": PLACE, "from": NUMBER, "to": NUMBER, "ahead": int}],
                          "run": (dict, type(None))}]}],
    "profile": {"launch": {"grid": [int], "arguments": [str], "cycles": NUMBER, "alone_cycles": NUMBER, "warp_cycles": NUMBER, "rounds": int, "sms": int, "ctas_at_once": int, "device": str, "crowded_by": str, **TIME},
                "classes": [{"name": str, "warps": int, "cycles": NUMBER}], "traffic": {"read": TRAFFIC, "written": TRAFFIC},
                "lines": [{"at": PLACE, **COUNTS}], "ptx": [{"line": int, **COUNTS}],
                "shared": [{"line": int, "reads": bool, "size": int, "program": int, "warp": int, "wavefronts": int, "ideal_wavefronts": int, "mask": int,
                            "addresses": [int]}],
                "waits": [{"line": int, "for": int, "cycles": NUMBER}]},
    "pictures": [{"title": str, "svg": str}],
    "findings": [{"follows": int, "at": PLACE, "kind": str, "ptx_line": int, "cycles": NUMBER, "share": (*NUMBER, type(None)),
                  "gain_us": (*NUMBER, type(None)), "after_us": (*NUMBER, type(None)), "left": (dict, type(None)), "title": str, "figures": str, "why": str, "try": str}],
}
wrong = []


def check(value, form, where, report):
    if form is PLACE:
        if value != 0 and not (isinstance(value, list) and len(value) == 2 and 0 <= value[0] < len(report["sources"])
                               and 1 <= value[1] <= report["sources"][value[0]]["text"].count("\n") + 1):
            wrong.append(f"{where}: {value} is no place")
    elif isinstance(form, dict):
        if not isinstance(value, dict):
            wrong.append(f"{where} is no object")
        elif set(value) != set(form):
            wrong.append(f"{where}: too much or too little: {sorted(set(value) ^ set(form))}")
        else:
            for name, part in form.items():
                check(value[name], part, f"{where}.{name}", report)
    elif isinstance(form, list):
        if not isinstance(value, list):
            wrong.append(f"{where} is no list")
        else:
            for i, one in enumerate(value):
                check(one, form[0], f"{where}[{i}]", report)
    elif not isinstance(value, form) or (form is int and isinstance(value, bool)):
        wrong.append(f"{where}: {value!r} is no {form}")


def check_time(time, where):
    """The parts of a time add up, and it is no less than any of its least times."""
    parts = [part for part in time["parts"].values() if not isinstance(part, str)]
    if min(parts) < 0 or abs(sum(parts) - time["microseconds"]) > 0.015:
        wrong.append(f"{where}: {time['parts']} do not add up to {time['microseconds']} us")
    if max(time["bounds"].values()) + time["parts"]["launch"] > time["microseconds"] + 0.015 or abs(max(time["bounds"].values()) - time["parts"]["longest"]) > 0.011:
        wrong.append(f"{where}: {time['microseconds']} us are less than {time['bounds']}")
    if time["unit"] and (abs(max(time["units"].values(), default=0) - time["bounds"]["unit"]) > 0.006 or abs(time["units"].get(time["unit"], 0) - time["bounds"]["unit"]) > 0.006):
        wrong.append(f"{where}: the busiest unit is {time['unit']} with {time['bounds']['unit']} us, of {time['units']}")


def check_run(run, loop, roles):
    """No piece is shorter than its instructions keep their unit busy, and what one warp keeps busy in a turn is no more than all do."""
    for piece in run["pieces"]:
        if not piece["waits"] and piece["kind"] != "queue" and piece["to"] - piece["from"] < piece["busy"] - 0.5:
            wrong.append(f"PTX {piece['ptx']} takes {piece['to'] - piece['from']} clocks and keeps its unit busy for {piece['busy']}")
        if piece["replays"] > piece["busy"] + 0.1:
            wrong.append(f"PTX {piece['ptx']}: {piece['replays']} replays in {piece['busy']} clocks")
        if (piece["kind"] == "queue") != bool(piece["unit"]):
            wrong.append(f"PTX {piece['ptx']} is a {piece['kind']} for the unit {piece['unit']!r}")
    for unit in run["units"]:
        if unit["replays"] > unit["wavefronts"] + 0.1 or unit["wavefronts"] > unit["clocks"] + 0.1:
            wrong.append(f"{unit['name']}: {unit['clocks']} clocks, {unit['wavefronts']} wavefronts, {unit['replays']} replays")
        if roles == 1 and loop["turn_cycles"] and unit["clocks"] > 1.05 * loop["turn_cycles"] + 20:
            wrong.append(f"{unit['name']} is busy for {unit['clocks']} clocks of an iteration of {loop['turn_cycles']}")


def programs(report):
    """Programs of the launch."""
    count = 1
    for axis in report["profile"]["launch"]["grid"]:
        count *= max(axis, 1)
    return count


def check_report(report):
    check(report, {**FORM, "profile": type(None)} if report.get("profile") is None else FORM, "report", report)
    if wrong:
        return
    ids = [stage["id"] for stage in report["stages"]]
    if len(set(ids)) != len(ids):
        wrong.append("two stages have one id")
    for stage in report["stages"]:
        if len(stage["lines"]) != len(stage["at"]):
            wrong.append(f"{stage['id']}: {len(stage['lines'])} lines, {len(stage['at'])} places")
    if any(layout["stage"] not in ids for layout in report["layouts"]):
        wrong.append("a layout is of no stage")
    for layout in report["layouts"]:
        text = next(stage["lines"] for stage in report["stages"] if stage["id"] == layout["stage"])
        if not any(line.startswith(f"layout {layout['name']} = ") for line in text):
            wrong.append(f"{layout['stage']} has no {layout['name']}")
        if any(len(basis) != len(layout["shape"]) for kind in ("reg", "lane", "warp", "block") for basis in layout[kind]):
            wrong.append(f"{layout['name']}: a basis has not the rank of the shape")
    ptx = next(stage for stage in report["stages"] if stage["kind"] == "ptx")
    if len(report["registers"]["lines"]) != len(ptx["lines"]):
        wrong.append("registers are of other lines than the PTX has")
    for buffer in report["shared"]["buffers"]:
        if not 1 <= buffer["from"] <= buffer["to"] <= report["shared"]["steps"] or buffer["offset"] + buffer["bytes"] > report["shared"]["program_bytes"]:
            wrong.append(f"{buffer['name']} lies outside")
    for loop, role in ((loop, role) for loop in report["loops"] for role in loop["roles"] if role["run"]):
        check(role["run"], {"program": int, "warp": int, "turn": int, "turns": int, "clocks": NUMBER, "units": [{"name": str, "clocks": NUMBER, "wavefronts": NUMBER, "replays": NUMBER}],
                            "pieces": [{"kind": str, "at": PLACE, "ptx": [int], "count": int, "from": NUMBER, "to": NUMBER, "until": NUMBER, "busy": NUMBER, "replays": NUMBER,
                                        "unit": str, "waits": bool}]}, "run", report)
        held = [piece for piece in role["run"]["pieces"] if piece["waits"] or piece["kind"] == "queue"]
        if any(piece["to"] > role["run"]["clocks"] + 1 for piece in held) or any(piece["from"] < 0 or piece["until"] + 0.2 < piece["to"] for piece in role["run"]["pieces"]):
            wrong.append("a piece of a turn is longer than the turn")
        check_run(role["run"], loop, len(loop["roles"]))
    if report["profile"]:
        if any(not 1 <= line["line"] <= len(ptx["lines"]) for line in report["profile"]["ptx"]):
            wrong.append("a counted line of the PTX is none")
        for access in report["profile"]["shared"]:
            if bin(access["mask"]).count("1") != len(access["addresses"]) or access["ideal_wavefronts"] > access["wavefronts"]:
                wrong.append(f"the access of shared memory at line {access['line']} does not fit together")
        if any(not 1 <= wait[end] <= len(ptx["lines"]) for wait in report["profile"]["waits"] for end in ("line", "for")):
            wrong.append("a wait is of no line of the PTX")
        waited = {line["line"]: line["wait_cycles"] for line in report["profile"]["ptx"]}
        for line in {wait["line"] for wait in report["profile"]["waits"]}:
            told = [wait["cycles"] for wait in report["profile"]["waits"] if wait["line"] == line]
            if sum(told) > waited.get(line, 0) + 0.1 * (1 + len(told)):
                wrong.append(f"PTX {line} waits for others {sum(told)} of {waited.get(line, 0)} clocks")
        for line in report["profile"]["ptx"]:
            if line["wait_cycles"] + line["queued_cycles"] > line["cycles"] + 0.3 or line["wavefronts"] > 1.01 * line["shared_clocks"] * programs(report) + 64:
                wrong.append(f"PTX {line['line']}: of {line['cycles']} clocks {line['wait_cycles']} are waits and {line['queued_cycles']} a queue; {line['wavefronts']} wavefronts in {line['shared_clocks']} clocks")
        launch, shared = report["profile"]["launch"], sum(line["shared_clocks"] for line in report["profile"]["lines"])
        if launch["rounds"] == launch["ctas_at_once"] == 1 and launch["bounds"]["latency"] > 0.5 and "shared memory and L1" in launch["units"]:
            told = launch["units"]["shared memory and L1"] * launch["alone_cycles"] / launch["bounds"]["latency"]
            if abs(told - shared) > 0.02 * launch["alone_cycles"]:
                wrong.append(f"shared memory and L1 is busy for {told:.0f} clocks by its least time, for {shared:.0f} by lines")
        for name in COUNTS:
            by_line, by_ptx = (sum(line[name] for line in report["profile"][part]) for part in ("lines", "ptx"))
            if abs(by_line - by_ptx) > 0.1 * len(report["profile"]["ptx"]) + 1e-6:
                wrong.append(f"{name}: {by_line} by line of the source, {by_ptx} by line of the PTX")
    if report["profile"]:
        launch = report["profile"]["launch"]
        check_time(launch, "the launch")
        if not launch["alone_cycles"] - 1 <= launch["cycles"] or launch["warp_cycles"] > launch["cycles"] + 1:
            wrong.append(f"a program of {launch['cycles']} clocks, {launch['alone_cycles']} by latency, {launch['warp_cycles']} of a warp")
        for finding in report["findings"]:
            if (finding["left"] is None) != (finding["gain_us"] is None):
                wrong.append(f"{finding['kind']}: what is gained and what is left are not both known")
            elif finding["left"]:
                check(finding["left"], TIME, f"{finding['kind']}.left", report)
                check_time(finding["left"], finding["kind"])
                if abs(finding["left"]["microseconds"] + finding["gain_us"] - launch["microseconds"]) > 0.011:
                    wrong.append(f"{finding['kind']}: {finding['gain_us']} us less are not {finding['left']['microseconds']} us")
    costs = [(finding["gain_us"] or 0, finding["cycles"]) for finding in report["findings"]]
    if [gain for gain, _ in costs] != sorted((gain for gain, _ in costs), reverse=True):
        wrong.append("a finding with more to gain comes later")
    for finding in report["findings"]:
        if (finding["share"] or 0) > 1 or finding["gain_us"] and finding["gain_us"] > report["profile"]["launch"]["microseconds"] + 0.01:
            wrong.append(f"{finding['kind']} costs more than there is: {finding['share']} of the clocks, {finding['gain_us']} us")


class Script(html.parser.HTMLParser):
    """The text of the script element of JSON, as a browser takes it."""

    def __init__(self):
        super().__init__(convert_charrefs=False)
        self.inside, self.text, self.scripts = False, "", 0

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        self.inside = tag == "script" and dict(attrs).get("type") == "application/json"

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "script"

    def handle_data(self, data):
        self.text += data if self.inside else ""


with open(sys.argv[1], encoding="utf-8") as file:
    read = json.load(file)
for one in read if isinstance(read, list) else [read]:
    check_report(one)
if len(sys.argv) > 2:
    with open(sys.argv[2], encoding="utf-8") as file:
        page = Script()
        page.feed(file.read())
    if page.scripts != 2:
        wrong.append(f"the page has {page.scripts} script elements")
    if json.loads(page.text) != read:
        wrong.append("the page holds another object")
print("\n".join(wrong[:20]))
sys.exit(bool(wrong))
