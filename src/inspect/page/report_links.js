/* Links: which lines of stages come from which line of the source. With two reports a row of the source is a line of
   either or of both, and links are rows, so that what both made of it is found together. */

/* A link is a number: file and row. */
const ROWS_A_FILE = 1 << 20, HUES = 7;

/* The files of all reports: {path, rows: [{text, lines: [of each report, 0 none]}], rowOf: [of each report, rows by line]}. */
function makeFiles(reports) {
    const files = [];
    page.fileOf = reports.map(report => (report.sources || []).map(() => -1));
    reports.forEach((report, side) => (report.sources || []).forEach((source, index) => {
        if (page.fileOf[side][index] >= 0)
            return;
        const again = report.sources.findIndex(other => other.path === source.path && other.text === source.text); /* a file that was read twice */
        if (again < index)
            return void (page.fileOf[side][index] = page.fileOf[side][again]);
        page.fileOf[side][index] = files.length;
        const parts = [];
        parts[side] = source;
        const other = reports[1 - side];
        if (other) {
            const same = (other.sources || []).findIndex((candidate, at) => page.fileOf[1 - side][at] < 0 && (candidate.path === source.path || (at === index && index === 0)));
            if (same >= 0) {
                parts[1 - side] = other.sources[same];
                page.fileOf[1 - side][same] = files.length;
            }
        }
        files.push(makeFile(parts, reports.length));
    }));
    return files;
}

function linesOf(text) {
    const lines = text.replace(/\r/g, "").split("\n");
    if (lines.length > 1 && lines[lines.length - 1] === "")
        lines.pop();
    return lines;
}

function makeFile(parts, sides) {
    const [first, second] = [0, 1].map(side => parts[side] ? linesOf(parts[side].text) : []);
    const [before, beforeSecond] = [0, 1].map(side => (parts[side]?.first_line || 1) - 1); /* lines of the file that are not in the text */
    const numbered = (i, j) => [i >= 0 ? i + 1 + before : 0, j >= 0 ? j + 1 + beforeSecond : 0];
    const differ = sides === 2 && parts[0] && parts[1] && parts[0].text !== parts[1].text;
    const rows = differ
        ? alignedRows(first, second, samePairs(first, second), false).map(([i, j]) => ({ text: i >= 0 ? first[i] : second[j], lines: numbered(i, j) }))
        : (parts[0] ? first : second).map((text, index) => ({ text, lines: numbered(parts[0] ? index : -1, parts[1] ? index : -1) }));
    const rowOf = [0, 1].map(side => {
        const found = [];
        rows.forEach((row, index) => {
            if (row.lines[side])
                found[row.lines[side]] = index;
        });
        return found;
    });
    const inside = stringLines(rows.map(row => row.text));
    rows.forEach((row, index) => (row.inside = inside[index]));
    return { path: (parts[0] || parts[1]).path, rows, rowOf, differ, columns: rows.reduce((most, row) => Math.max(most, row.text.length), 0) };
}

/* The link of a place [file, line] of a report, -1 if it is nowhere. */
function linkOf(side, at) {
    if (!Array.isArray(at))
        return -1;
    const file = page.fileOf[side]?.[at[0]];
    const row = file === undefined || file < 0 ? undefined : page.files[file].rowOf[side][at[1]];
    return row === undefined ? -1 : file * ROWS_A_FILE + row;
}

function fileOfLink(link) {
    return Math.floor(link / ROWS_A_FILE);
}

function rowOfLink(link) {
    return link % ROWS_A_FILE;
}

/* The line of a link as people write it, by the numbers of that report's source. */
function lineText(link, side = 0) {
    if (link < 0)
        return "no line";
    const row = page.files[fileOfLink(link)].rows[rowOfLink(link)];
    const file = fileOfLink(link) > 0 ? `${page.files[fileOfLink(link)].path.replace(/.*\//, "")}:` : "line ";
    return file + (row.lines[side] || row.lines[1 - side]);
}

function sourceText(link) {
    return link < 0 ? "" : page.files[fileOfLink(link)].rows[rowOfLink(link)].text;
}

/* The stages of all reports in order; with two, those of the same name are one step: {kind, title, summary, of: [index in
   each report or -1]}. */
function makeSteps(reports) {
    const named = reports.map(report => {
        const seen = new Map();
        return (report.stages || []).map(stage => {
            const name = `${stage.kind}/${stage.title}`;
            seen.set(name, (seen.get(name) || 0) + 1);
            return `${name}/${seen.get(name)}`;
        });
    });
    const step = (side, index, other) => {
        const { id, kind, title, summary } = reports[side].stages[index];
        return { id, kind, title, summary, of: side ? [other, index] : [index, other] };
    };
    if (reports.length < 2)
        return named[0].map((_, index) => step(0, index, -1));
    return alignedRows(named[0], named[1], samePairs(named[0], named[1]), false).map(([i, j]) => (i >= 0 ? step(0, i, j) : step(1, j, -1)));
}

/* What is needed of a stage to show it, made when it is first shown. */
function stageOf(side, index) {
    const stage = page.reports[side]?.stages?.[index];
    if (!stage)
        return null;
    if (!stage.ready) {
        const lines = stage.lines || [], links = new Int32Array(lines.length).fill(-1), found = new Map();
        lines.forEach((_, line) => {
            const link = linkOf(side, stage.at?.[line]);
            links[line] = link;
            if (link >= 0 && !found.get(link)?.push(line))
                found.set(link, [line]);
        });
        stage.ready = { lines, links, found, id: stage.id, kind: stage.kind, columns: lines.reduce((most, line) => Math.max(most, line.length), 0) };
    }
    return stage.ready;
}

/* The PTX of a report, as a stage; null if it has none. */
function ptxStage(side) {
    const index = (page.reports[side]?.stages || []).findIndex(stage => stage.kind === "ptx");
    return index < 0 ? null : stageOf(side, index);
}

/* A hue for each line of the source that some stage has code of, such that neighbours differ. A syntax tree has all lines,
   so that it says nothing. */
function makeHues() {
    const linked = new Set();
    page.reports.forEach((report, side) => (report.stages || []).filter(stage => stage.kind !== "ast").forEach(stage => (stage.at || []).forEach(at => {
        const link = linkOf(side, at);
        if (link >= 0)
            linked.add(link);
    })));
    page.hues = new Map([...linked].sort((a, b) => a - b).map((link, index) => [link, `var(--hue${index % HUES})`]));
}

/* The link that the page points to: the one below the cursor, else the pinned one. */
function pointed() {
    return page.hot >= 0 ? page.hot : page.pin;
}

function setHot(link) {
    if (page.hot !== link) {
        page.hot = link;
        emit("hot");
    }
}

/* Pins a line, so that it stays highlighted when the cursor leaves; the same once more frees it. */
function setPin(link, origin) {
    page.pin = link;
    emit("hot");
    emit("pin", origin);
    keep();
}

function togglePin(link, origin) {
    setPin(link === page.pin ? -1 : link, origin);
}

/* A button that leads to a line of the source. */
function placeButton(side, at, text) {
    const link = linkOf(side, at);
    if (link < 0)
        return text ? el("span", {}, text) : null;
    return el("button", { class: "bare nowrap", type: "button", title: sourceText(link).trim(), onclick: () => setPin(link, "link"), onmouseenter: () => setHot(link), onmouseleave: () => setHot(-1) }, text || lineText(link, side));
}

/* What the simulator counted, as columns: `of` takes a record of a line; of ratios also what would do. `waits` is the part
   of it that a warp stands still. */
const METRICS = [
    { id: "cycles", title: "cycles", long: "Where a warp's cycles go by; the hatched part is waiting, whose cause may be another line", of: record => record.cycles, waits: record => record.wait_cycles },
    { id: "caused", title: "cause", long: "The same cycles by cause: waiting counts at the load, copy or product that is waited for", of: record => record.caused_cycles },
    { id: "waits", title: "waits", long: "Cycles that a warp stands still at the line, as a share of all cycles", of: record => record.wait_cycles },
    { id: "instructions", title: "instr.", long: "Instructions executed, each counted once a warp", of: record => record.warps },
    { id: "sectors", title: "sectors", long: "32-byte sectors of global memory moved, over the fewest that would do", of: record => record.sectors, ideal: record => record.ideal_sectors },
    { id: "wavefronts", title: "wavefr.", long: "Wavefronts of shared memory, over the fewest that would do", of: record => record.wavefronts, ideal: record => record.ideal_wavefronts },
];

/* The records of a report by link, and by line of the PTX; those of one line added up. */
function makeProfile(side) {
    const profile = page.reports[side].profile, found = { lines: new Map(), ptx: new Map(), metrics: [], waits: new Map(), waited: new Map(), linkWaits: new Map(), linkWaited: new Map() };
    if (!profile)
        return found;
    const add = (map, key, record) => {
        const sum = map.get(key) || {};
        for (const [name, value] of Object.entries(record))
            if (typeof value === "number" && name !== "line")
                sum[name] = (sum[name] || 0) + value;
        map.set(key, sum);
    };
    for (const record of profile.lines || [])
        add(found.lines, linkOf(side, record.at), record);
    for (const record of profile.ptx || [])
        add(found.ptx, record.line - 1, record);
    found.lines.delete(-1);
    noteWaits(found, profile, side);
    for (const metric of METRICS)
        if ((metric.id !== "caused" || found.waits.size) && [...found.lines.values()].some(record => metric.of(record) > 0))
            found.metrics.push({ ...metric, lines: scaleOf(metric, found.lines), ptx: scaleOf(metric, found.ptx) });
    /* Parts of cycles are shares of these. */
    const whole = found.metrics.find(metric => metric.id === "cycles");
    for (const metric of found.metrics.filter(metric => whole && metric.id === "waits"))
        [metric.lines.total, metric.ptx.total] = [whole.lines.total, whole.ptx.total];
    return found;
}

/* Who waits for whom, by line of the PTX and by link, both ways: maps from one to [{other, cycles, line: of the PTX}], the
   longest first; "other" is a text where it is no instruction. Cycles by cause are those of a line but for its waits, and the waits for it. */
function noteWaits(found, profile, side) {
    const ptx = (page.reports[side].stages || []).find(stage => stage.kind === "ptx"), place = line => linkOf(side, ptx?.at?.[line]);
    const add = (map, key, other, wait, line) => {
        const list = map.get(key) || [], known = list.find(entry => entry.other === other);
        if (known)
            known.cycles += wait.cycles;
        else
            list.push({ other, cycles: wait.cycles, line });
        map.set(key, list);
    };
    const move = (record, cycles) => record && (record.caused_cycles = (record.caused_cycles ?? record.cycles ?? 0) + cycles);
    for (const record of [...found.lines.values(), ...found.ptx.values()])
        record.caused_cycles = record.cycles;
    for (const wait of profile.waits || []) {
        const [here, there] = [wait.line - 1, wait.for - 1], [from, to] = [place(here), place(there)];
        add(found.waits, here, there, wait, there);
        add(found.waited, there, here, wait, here);
        move(found.ptx.get(here), -wait.cycles);
        move(found.ptx.get(there), wait.cycles);
        if (from === to)
            continue;
        add(found.linkWaits, from, to, wait, there);
        add(found.linkWaited, to, from, wait, here);
        move(found.lines.get(from), -wait.cycles);
        move(found.lines.get(to), wait.cycles);
        if (found.lines.has(to))
            found.lines.get(to).awaited_elsewhere = (found.lines.get(to).awaited_elsewhere || 0) + wait.cycles;
    }
    for (const [line, record] of found.ptx) {
        const rest = (record.wait_cycles || 0) - (found.waits.get(line) || []).reduce((sum, wait) => sum + wait.cycles, 0);
        const what = HELD_FOR.find(([form]) => form.test(opcodeOf(ptx?.lines?.[line])))?.[1];
        if (rest < 0.5 || !what)
            continue;
        add(found.waits, line, what, { cycles: rest }, line);
        add(found.linkWaits, place(line), what, { cycles: rest }, line);
    }
    for (const map of [found.waits, found.waited, found.linkWaits, found.linkWaited])
        map.forEach(list => list.sort((a, b) => b.cycles - a.cycles));
}

/* What of waiting at an instruction no other instruction is known for: it holds warps up itself. */
const HELD_FOR = [[/^cp\.async\.(bulk\.)?wait/, "copies"], [/^mbarrier\./, "copies, or room for them"], [/^wgmma\./, "products"], [/^(bar|barrier)\./, "other warps"], [/^griddepcontrol/, "the launch before"]];

/* The name of the instruction in a line of PTX, without its guard. */
function opcodeOf(text) {
    return (text || "").trim().split(/\s+/).find(word => !/^[@{]/.test(word))?.replace(/;$/, "") || "?";
}

function scaleOf(metric, records) {
    const values = [...records.values()];
    const total = values.reduce((sum, record) => sum + (metric.of(record) || 0), 0);
    const most = Math.max(...values.map(record => (metric.ideal ? ratioOf(metric, record) : metric.of(record)) || 0), 0);
    return { total, most };
}

function ratioOf(metric, record) {
    const ideal = metric.ideal(record);
    return ideal > 0 ? metric.of(record) / ideal : 0;
}

/* A cell of a heat column: {text, part of 1}; null where nothing was counted. */
function heatOf(metric, scale, record) {
    const value = record && metric.of(record);
    if (!value)
        return null;
    if (metric.ideal) {
        const ratio = ratioOf(metric, record);
        return ratio > 0 ? { text: `${ratio.toFixed(ratio < 10 ? 2 : 1)}×`, part: scale.most > 1 ? (ratio - 1) / (Math.max(scale.most, 2) - 1) : 0 } : null;
    }
    const share = value / scale.total;
    return { waits: metric.waits ? clamp((metric.waits(record) || 0) / value, 0, 1) : 0, text: metric.id === "instructions" ? brief(value) : shareText(share), part: value / scale.most };
}

function shareText(share) {
    return share < 0.00005 ? "<0.01 %" : `${(100 * share).toFixed(share < 0.001 ? 2 : 1)} %`;
}

/* All figures of a record in words. */
function figuresText(profile, which, record) {
    return profile.metrics.map(metric => {
        const value = metric.of(record);
        if (!value)
            return "";
        if (metric.ideal)
            return `${metric.id} ${count(value)} (ideal ${count(metric.ideal(record))})`;
        return `${metric.id === "caused" ? "cycles by cause" : metric.id} ${count(value)} (${(100 * value / metric[which].total).toFixed(1)} %)`;
    }).filter(Boolean).join(" · ");
}
