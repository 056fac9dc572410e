/* Pictures: pipelines of loops, shared memory over time, registers over the code. */

/* Kinds of ops of a loop: the row of its role that they stand in, a hue, and a hatch so that no one needs the hue. */
const OP_KINDS = {
    copy: { lane: "copies", hue: "#56b4e9" }, global: { lane: "global memory", hue: "#0072b2", light: true }, shared: { lane: "shared memory", hue: "#cc79a7" },
    product: { lane: "products", hue: "#009e73" }, arithmetic: { lane: "arithmetic", hue: "#e69f00" }, exchange: { lane: "exchanges", hue: "#f0e442" },
    wait: { lane: "barriers", hue: "#d55e00" }, barrier: { lane: "barriers", hue: "#b3b3b3" }, control: { lane: "control", hue: "#8a8f98" },
};
const OP_LANES = ["copies", "global memory", "shared memory", "products", "arithmetic", "exchanges", "barriers", "control", "other"];

function kindOf(op) {
    return OP_KINDS[op.kind] || { lane: "other", hue: "#b3b3b3" };
}

/* Marks for steps of an axis: about one in each `room` pixels, at round numbers. */
function ticks(most, pixels, room) {
    const least = most * room / Math.max(pixels, 1), power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-9)));
    const step = [1, 2, 5, 10].map(factor => factor * power).find(candidate => candidate >= least) || least, found = [];
    for (let value = 0; value <= most * 1.0001; value += step)
        found.push(Number(value.toPrecision(10)));
    return found;
}

/* A picture as wide as its place; made anew when that changes. */
function fitted(place, make) {
    let width = 0;
    const redraw = () => {
        width = place.clientWidth;
        if (width)
            make(width);
    };
    const observer = new ResizeObserver(() => place.clientWidth !== width && redraw());
    observer.observe(place);
    panelStops.push(() => observer.disconnect());
    redraw();
    return redraw;
}

/* Marks what of a picture belongs to the line that is pointed to. */
function linkedMarks(place) {
    const mark = () => place.querySelectorAll("[data-link]").forEach(node => node.classList.toggle("linked", Number(node.dataset.link) >= 0 && Number(node.dataset.link) === pointed()));
    panelOn("hot", mark);
    return mark;
}

/* A bar that says what it is, leads to its line and highlights it. */
function linkedBar(link, text, ...shapes) {
    const bar = svg("g", { class: "bar", tabindex: 0, role: "button", "aria-label": text.replace(/\n/g, ", "), "data-link": link, onmouseenter: () => link >= 0 && setHot(link), onmouseleave: () => setHot(-1), onfocus: () => link >= 0 && setHot(link), onblur: () => setHot(-1) }, shapes);
    return explains(bar, () => text, () => link >= 0 && togglePin(link, "link"));
}

/* Loops */

function makeLoopsPanel(body, report, side) {
    body.tabIndex = 0;
    const roles = report.loops.flatMap(loop => loop.roles || []), ran = roles.some(role => role.run);
    const kinds = [...new Set(roles.flatMap(role => [...(role.ops || []), ...(role.run?.pieces || [])].map(op => op.kind)))];
    body.append(el("div", { class: "legend pad" }, kinds.map(kind => el("span", { class: "nowrap" }, el("span", { class: "swatch", vars: { background: kindOf({ kind }).hue } }), kind)),
        ran && [roles.some(role => [...(role.run?.pieces || []), ...(role.run?.units || [])].some(part => part.replays >= 0.5)) && el("span", { class: "nowrap" }, el("span", { class: "swatch", vars: { background: REPLAYS } }), "replays of bank conflicts"), el("span", { class: "nowrap" }, el("span", { class: "swatch flight" }), "its result is on the way")],
        el("span", { class: "quiet" }, "Two iterations, the second one pale; what reaches past the line of its iteration goes on beside the next one.")));
    [...report.loops].sort((a, b) => (b.stages || 0) - (a.stages || 0)).forEach(loop => {
        const turns = loop.trips || loop.turns, trips = turns ? `, ${count(turns)} iteration${turns === 1 ? "" : "s"}` : "";
        const each = loop.turn_cycles ? `, ${count(Math.round(loop.turn_cycles))} cycles each as it ran, in the mean of all warps` : "";
        body.append(el("h3", { class: "pad" }, "Loop at ", placeButton(side, loop.at, null) || "no line", ` - ${loop.stages > 1 ? `copies ${plural(loop.stages - 1, "iteration")} ahead` : "nothing started ahead"}${loop.asked ? ` (${plural(loop.asked, "stage")} asked for by ${loop.asked_by})` : ""}${trips}${each}`));
        body.append(el("div", { class: "loops" }, loopViews(loop, report).map(view => loopView(view, loop, side))));
    });
}

/* What bank conflicts add is of no other kind's colour. */
const REPLAYS = "#a3001e";

/* The pictures of a loop, on one scale: as it ran, where that is known, and as schedules have it. */
function loopViews(loop, report) {
    const ran = (loop.roles || []).filter(role => role.run).map(role => ({ name: role.name, warps: role.warps, clocks: role.run.clocks, units: role.run.units, ops: role.run.pieces.map(piece => pieceOp(piece, role.run)), run: role.run }));
    const why = report.profile ? "no turn of it was kept: it has another loop within, or goes around less than twice" : "nothing was run: with arguments (-g, -a) the simulator's clock is shown beside it";
    const views = [{ roles: (loop.roles || []).map(role => ({ ...role, run: null })), title: "By the model of the compiler's schedules", note: `an estimate of one warp alone, whose ops begin in their order, with the latencies and rates of that clock; left out are waits for other warps and bank conflicts${ran.length ? "" : `; ${why}`}` }];
    if (ran.length)
        views.unshift({ roles: ran, title: "As it ran, by the simulator's clock", note: ran.map(({ name, run }) => `${ran.length > 1 ? `${name}: ` : ""}warp ${run.warp} of program ${run.program}, iteration ${count(run.turn)} of ${count(run.turns)}, ${count(Math.round(run.clocks))} clocks${crowdText(run)}`).join("; ") });
    const most = Math.max(...views.map(view => spanOf(view.roles)));
    return views.map(view => ({ ...view, span: most }));
}

/* A unit that all warps together keep busy for longer than one of them takes. */
function crowdText(run) {
    const [unit] = [...run.units].sort((a, b) => b.clocks - a.clocks);
    return unit?.clocks > 1.02 * run.clocks ? `; but all warps keep ${unit.name} busy for ${count(Math.round(unit.clocks))} clocks an iteration, and each waits for that` : "";
}

function pieceOp(piece, run) {
    const lines = piece.ptx[0] === piece.ptx[1] ? `PTX ${piece.ptx[0]}` : `PTX ${piece.ptx[0]} to ${piece.ptx[1]}, ${plural(piece.count, "instruction")}`;
    return { ...piece, text: lines, ahead: 0, conflicts: piece.replays > 0.5 ? `, of which ${count(Math.round(piece.replays))} are replays of bank conflicts` : "", turns: run.turns };
}

function loopView(view, loop, side) {
    const place = el("div");
    const node = el("figure", {}, el("figcaption", {}, el("b", {}, view.title), el("span", { class: "quiet" }, ` ${view.note}`)), place);
    const mark = linkedMarks(place);
    requestAnimationFrame(() => fitted(place, width => {
        place.replaceChildren(loopPicture(view, side, width - 4));
        mark();
    }));
    return node;
}

/* Ops of a row in as few levels as keep them apart. */
function levelsOf(ops, period) {
    const ends = [];
    return ops.map(op => {
        const length = Math.max(op.to - op.from, period / 400);
        let level = ends.findIndex(end => end <= op.from + 1e-6);
        if (level < 0)
            level = ends.push(0) - 1;
        ends[level] = op.from + length;
        return { op, level };
    });
}

function periodOf(roles) {
    return Math.max(1, ...roles.map(role => role.clocks || Math.max(1, ...(role.ops || []).map(op => op.to))), ...roles.flatMap(role => (role.units || []).map(unit => unit.clocks)));
}

/* Clocks that a picture has room for: two iterations, and what goes on behind them. */
function spanOf(roles) {
    const period = periodOf(roles), ends = roles.flatMap(role => (role.ops || []).map(op => op.until ?? op.to));
    return clamp(period + Math.max(period, ...ends), 2 * period, 3 * period);
}

function loopPicture({ roles: all, span, title }, side, width) {
    const roles = all.filter(role => (role.ops || []).length), left = 150, picture = [], period = periodOf(roles), scale = (width - left - 8) / span;
    let y = 18;
    for (const at of ticks(span, width - left, 70))
        picture.push(svg("text", { class: "dim", x: left + at * scale, y: 11, "text-anchor": !at ? "start" : left + at * scale > width - 16 ? "end" : "middle" }, count(at)), svg("line", { class: "grid", x1: left + at * scale, x2: left + at * scale, y1: 15, y2: "100%" }));
    for (const role of roles) {
        const lanes = OP_LANES.map(name => ({ name, ops: role.ops.filter(op => kindOf(op).lane === name) })).filter(lane => lane.ops.length);
        picture.push(svg("text", { x: 0, y: y + 10, "font-weight": 600 }, role.name), role.run ? svg("text", { class: "dim", x: 0, y: y + 23 }, `warp ${role.run.warp}`) : role.warps && svg("text", { class: "dim", x: 0, y: y + 23 }, `${role.warps} warp${role.warps === "1" ? "" : "s"}`));
        for (const lane of lanes) {
            const turn = role.run ? role.clocks : period;
            const both = [0, 1].flatMap(number => lane.ops.map(op => ({ ...op, turn: number, from: op.from + number * turn, to: op.to + number * turn, ...(op.until !== undefined && { until: op.until + number * turn }) })));
            both.sort((a, b) => a.from - b.from);
            const placed = levelsOf(both, span), levels = Math.max(...placed.map(({ level }) => level)) + 1, high = levels > 5 ? 6 : 14;
            picture.push(svg("text", { class: "dim", x: left - 8, y: y + 10, "text-anchor": "end" }, lane.name));
            for (const { op, level } of placed)
                picture.push(opBar(op, side, { x: left + op.from * scale, y: y + level * high, width: Math.max(1.5, (Math.min(op.to, span) - op.from) * scale), height: high - (levels > 5 ? 1 : 2) }, scale, span));
            y += Math.max(13, levels * high) + 4;
        }
        y = Math.max(y, 18) + 4;
        for (const turn of [0, 1, 2])
            picture.push(svg("line", { class: "cursor", "stroke-width": 1, x1: left + turn * (role.run ? role.clocks : period) * scale, x2: left + turn * (role.run ? role.clocks : period) * scale, y1: 14, y2: y - 3 }));
        y = unitBars(role, picture, { left, y, scale, width });
        picture.push(svg("line", { class: "axis", x1: 0, x2: width, y1: y - 3, y2: y - 3 }));
    }
    return svg("svg", { width, height: y + 2, role: "group", "aria-label": `${title}: ${plural(roles.length, "role")}, an iteration takes about ${count(Math.round(period))} clocks` }, picture);
}

/* What all warps of a program occupy in an iteration: a unit that is busy for longer than the warp's own iteration is what holds it up. */
function unitBars(role, picture, { left, y, scale, width }) {
    const units = [...(role.units || [])].sort((a, b) => b.clocks - a.clocks).filter((unit, index) => index < 3 && unit.clocks >= 0.2 * role.clocks);
    for (const unit of units) {
        const wide = unit.clocks * scale, replays = Math.min(unit.replays, unit.clocks) * scale;
        const text = `${unit.name}: all ${role.warps} warps of a program keep it busy for ${count(Math.round(unit.clocks))} clocks of each iteration${unit.replays >= 1 ? `, of which ${count(Math.round(unit.replays))} are replays of bank conflicts` : ""}${unit.clocks > role.clocks ? "; longer than the iteration of a warp, which therefore waits" : ""}`;
        picture.push(svg("text", { class: "dim", x: left - 8, y: y + 10, "text-anchor": "end" }, `${unit.name}, all`),
            linkedBar(-1, text, svg("rect", { x: left, y, width: Math.max(1.5, wide), height: 12, fill: "#8a8f98", "fill-opacity": 0.6 }), replays > 0.5 && svg("rect", { x: left + wide - replays, y, width: replays, height: 12, fill: REPLAYS }),
                svg("text", { class: "dim", x: left + wide + 4, y: y + 10 }, `${count(Math.round(unit.clocks))} clocks${unit.replays >= 1 ? `, ${count(Math.round(unit.replays))} of them replays` : ""}`)));
        y += 17;
    }
    return y + (units.length ? 3 : 0);
}

function opBar(op, side, box, scale, span) {
    const ahead = op.ahead ? `\nfor the iteration ${op.ahead} later` : "", link = linkOf(side, op.at), { hue, light } = kindOf(op);
    const later = op.until > op.to + 0.5 ? `, ends at ${count(Math.round(op.until))}` : "", held = op.waits ? "\nthe warp is held up, by others or by units that they keep busy" : "";
    const text = `${op.text}\n${op.kind}, ${link >= 0 ? lineText(link, side) : "no line"}, iteration ${op.turn ? "i + 1" : "i"}${ahead}\nclocks ${count(Math.round(op.from))} to ${count(Math.round(op.to))}${op.conflicts || ""}${later}${held}`;
    const label = (op.ahead ? `+${op.ahead} ` : "") + op.text.replace(/^%[\w.]+ = /, "");
    const pale = op.turn ? 0.45 : 1, replays = Math.min(op.replays || 0, op.to - op.from) * scale, flight = (Math.min(op.until ?? op.to, span) - op.to) * scale;
    return linkedBar(link, text, svg("rect", { ...box, rx: 1, fill: hue, "fill-opacity": pale }),
        flight > 1 && svg("rect", { x: box.x + box.width, y: box.y + box.height / 2 - 1.5, width: flight, height: 3, fill: hue, "fill-opacity": 0.55 * pale }),
        replays > 0.5 && svg("rect", { class: "replays", x: box.x + box.width - replays, y: box.y, width: replays, height: box.height, fill: REPLAYS, "fill-opacity": pale }),
        box.width > 34 && box.height > 10 && !(replays > 0.5) && svg("svg", { ...box, width: box.width - 3, "aria-hidden": "true" }, svg("text", { class: "on", x: 3, y: 9, style: op.turn ? "fill: var(--text)" : light ? "fill: #fff" : "" }, label)));
}

/* Shared memory */

function makeSharedPanel(body, report, side) {
    const { buffers, limit } = report.shared, place = el("div", { class: "sheet pad" });
    const total = report.shared.program_bytes || report.shared.bytes;
    body.classList.add("flow");
    const conflict = buffer => Math.max(buffer.banks?.read || 0, buffer.banks?.written || 0);
    const columns = [
        { title: "buffer", of: buffer => buffer.name, text: buffer => placeButton(side, buffer.at, buffer.name) },
        { title: "elements", of: buffer => buffer.type || "" },
        { title: "copies", numeric: true, of: buffer => buffer.copies }, { title: "bytes", numeric: true, of: buffer => buffer.bytes }, { title: "at", numeric: true, of: buffer => buffer.offset },
        { title: "× banks", long: "wavefronts over those that would do, of the worse of reading and writing", numeric: true, of: buffer => conflict(buffer) || undefined, text: buffer => (conflict(buffer) ? conflict(buffer).toFixed(1) : ""), style: buffer => (conflict(buffer) > 1.05 ? "over" : "") },
    ];
    body.append(place, el("div", { class: "column", tabindex: 0, role: "region", "aria-label": "Buffers", vars: { flex: "0 1 430px", padding: "0" } }, sortedTable("Buffers", columns, buffers, 4, buffer => linkOf(side, buffer.at), true),
        el("p", { class: "pad quiet" }, `${bytes(report.shared.bytes)} a CTA${limit ? ` of at most ${bytes(limit)}` : ""}. A step is an op; buffers that live at different steps share bytes.`)));
    const mark = linkedMarks(place);
    fitted(place, width => {
        place.replaceChildren(sharedPicture(report.shared, total, side, width - 20, Math.max(140, place.clientHeight - 16)));
        mark();
    });
}

function sharedPicture(shared, total, side, width, height) {
    const left = 58, top = 6, bottom = 18, most = Math.max(total, ...shared.buffers.map(buffer => buffer.offset + buffer.bytes), 1), steps = Math.max(1, shared.steps, ...shared.buffers.map(buffer => buffer.to));
    const across = (width - left - 6) / steps, down = (height - top - bottom) / most, picture = [];
    const unit = 2 ** Math.ceil(Math.log2(most * 26 / (height - top - bottom)));
    for (let value = 0; value <= most; value += unit)
        picture.push(svg("text", { class: "dim", x: left - 5, y: top + value * down + 4, "text-anchor": "end" }, bytes(value)), svg("line", { class: "grid", x1: left, x2: width, y1: top + value * down, y2: top + value * down }));
    for (const at of ticks(steps, width - left, 60))
        picture.push(svg("text", { class: "dim", x: left + at * across, y: height - 4, "text-anchor": !at ? "start" : left + at * across > width - 12 ? "end" : "middle" }, at));
    picture.push(svg("line", { class: "limit", x1: left, x2: width, y1: top + total * down, y2: top + total * down }));
    shared.buffers.forEach((buffer, index) => {
        const box = { x: left + buffer.from * across, y: top + buffer.offset * down, width: Math.max(2, (buffer.to - buffer.from) * across), height: Math.max(2, buffer.bytes * down) };
        const link = linkOf(side, buffer.at), copies = buffer.copies || 1, color = CATEGORIES[index % CATEGORIES.length];
        const bank = ["read", "written"].filter(way => buffer.banks?.[way] > 0).map(way => `${way} with ${buffer.banks[way].toFixed(1)} × the wavefronts`).join(", ");
        const text = `${buffer.name} ${buffer.type || ""}\n${bytes(buffer.bytes)} from byte ${count(buffer.offset)}, ${copies === 1 ? "one copy" : `${copies} copies`}\nsteps ${buffer.from} to ${buffer.to}, ${lineText(link, side)}${bank ? `\n${bank}` : ""}`;
        const parts = Array.from({ length: copies - 1 }, (_, copy) => svg("line", { x1: box.x, x2: box.x + box.width, y1: box.y + (copy + 1) * box.height / copies, y2: box.y + (copy + 1) * box.height / copies, stroke: "#000", "stroke-opacity": 0.4, "stroke-dasharray": "3 2" }));
        picture.push(linkedBar(link, text, svg("rect", { ...box, fill: color }), box.height > 4 * copies && parts,
            box.height >= 12 && box.width > 40 && svg("svg", { ...box, "aria-hidden": "true" }, svg("text", { class: "on", x: 4, y: 11, style: `fill: ${inkOn(color)}` }, `${buffer.name} ${buffer.type || ""}${copies > 1 ? ` × ${copies}` : ""}`))));
    });
    return svg("svg", { width, height, role: "group", "aria-label": "Shared memory: bytes downwards, steps of the kernel to the right" }, picture);
}

/* Registers */

/* Lines that are no instructions have no live registers; there what lives before them still does. */
function withoutGaps(lines, stages) {
    const text = stages.find(stage => stage.kind === "ptx")?.lines || [], noInstruction = /^\s*(?:$|\.|\/\/|[$\w]+:|\{)/;
    let before = 0;
    return lines.map((live, line) => (before = live === 0 && noInstruction.test(text[line] ?? "") ? before : live));
}

/* What was really compiled, and what live counts. */
function registersText(report) {
    const { limit, limit_by: by, dropped, taken } = report.registers;
    return `${taken ? `A thread takes ${plural(taken, "register")}${report.facts.registers_estimated ? " (an estimate: no assembler said it)" : ", as ptxas says"}. ` : ""}${limit ? `At most ${limit}${by ? `, by ${by}` : ""}. ` : ""}${dropped ? `A limit of ${dropped} was taken back, since the code spilled with it. ` : ""}Live are the 32-bit values of the PTX that are still needed at a line, before ptxas orders and allocates: more than it takes, or than a thread has, are no spills.`;
}

function makeRegistersPanel(body, report, side) {
    const place = el("div", { class: "sheet pad" }), { limit } = report.registers;
    const lines = withoutGaps(report.registers.lines, report.stages);
    const top = lines.map((live, line) => ({ live, line })).sort((a, b) => b.live - a.live || a.line - b.line), ptx = page.steps.findIndex(step => step.kind === "ptx" && step.of[side] >= 0), stage = ptx >= 0 ? stageOf(side, page.steps[ptx].of[side]) : null;
    const most = new Map();
    if (stage)
        lines.forEach((live, line) => {
            const link = stage.links[line] ?? -1;
            if (link >= 0 && live > (most.get(link)?.live || 0))
                most.set(link, { link, live, line });
        });
    const show = line => page.view.showPtx(side, line);
    body.classList.add("flow");
    body.append(place, el("div", { class: "column", tabindex: 0, role: "region", "aria-label": "Registers by line", vars: { flex: "0 1 360px", padding: "0" } },
        sortedTable("Most live registers by line of the source", [
            { title: "line", of: row => row.link, text: row => el("button", { class: "bare", type: "button", onclick: () => setPin(row.link, "link") }, lineText(row.link, side).replace("line ", "")) },
            { title: "live", long: "32-bit values before allocation, at most", numeric: true, of: row => row.live },
            { title: "PTX", long: "line where", numeric: true, of: row => row.line + 1, text: row => el("button", { class: "bare", type: "button", onclick: () => show(row.line) }, String(row.line + 1)) },
            { title: "source", of: row => sourceText(row.link).trim(), text: row => sourceText(row.link).trim(), style: () => "text" },
        ], [...most.values()], 1, row => row.link), el("p", { class: "pad quiet" }, registersText(report))));
    let cursor = top.length ? top[0].line : 0;
    const say = line => `PTX line ${line + 1}: ${plural(lines[line], "value")} live, before allocation${stage && stage.links[line] >= 0 ? `, ${lineText(stage.links[line], side)}` : ""}${line === top[0].line ? ", the most" : ""}`;
    const redraw = fitted(place, width => place.replaceChildren(registerPicture({ lines, limit, stage, cursor, peak: top[0], say, show, move: line => {
        cursor = line;
        setHot(stage ? stage.links[line] ?? -1 : -1);
        tell(say(line));
        redraw();
        place.firstChild.focus();
    } }, width - 20, Math.max(120, place.clientHeight - 16))));
    panelOn("hot", () => drawBands(place.firstChild, stage));
}

function registerPicture({ lines, limit, stage, cursor, peak, say, show, move }, width, height) {
    const left = 40, top = 8, bottom = 18, most = Math.max(peak.live * 1.08, limit && limit <= 2 * peak.live ? limit * 1.04 : 1);
    const x = line => left + (width - left - 8) * line / Math.max(1, lines.length - 1), y = live => top + (height - top - bottom) * (1 - live / most);
    const path = lines.map((live, line) => `${line ? "L" : "M"}${x(line).toFixed(1)} ${y(live).toFixed(1)}`).join("");
    const picture = svg("svg", { width, height, tabindex: 0, role: "application", "aria-label": `Live registers over the lines of the PTX; ${say(peak.line)}. Arrow keys move, Enter shows the line.` },
        ticks(most, height - top - bottom, 24).map(value => [svg("text", { class: "dim", x: left - 5, y: y(value) + 4, "text-anchor": "end" }, value), svg("line", { class: "grid", x1: left, x2: width - 8, y1: y(value), y2: y(value) })]),
        ticks(lines.length - 1, width - left, 60).map(line => svg("text", { class: "dim", x: x(line), y: height - 4, "text-anchor": "middle" }, line || "")),
        svg("g", { class: "bands" }),
        svg("path", { class: "area", d: `${path}L${x(lines.length - 1)} ${y(0)}L${x(0)} ${y(0)}Z` }), svg("path", { class: "curve", d: path }),
        limit && limit <= most ? [svg("line", { class: "limit", x1: left, x2: width - 8, y1: y(limit), y2: y(limit) }), svg("text", { class: "dim", x: width - 10, y: y(limit) - 3, "text-anchor": "end" }, `limit ${limit}`)] : svg("text", { class: "dim", x: width - 10, y: top + 8, "text-anchor": "end" }, limit ? `the limit is ${limit}` : ""),
        svg("line", { class: "cursor", x1: x(cursor), x2: x(cursor), y1: top, y2: height - bottom }), svg("circle", { cx: x(cursor), cy: y(lines[cursor]), r: 3, fill: "var(--text)" }));
    picture.scale = { x, y0: top, y1: height - bottom };
    const lineAt = event => clamp(Math.round((event.clientX - picture.getBoundingClientRect().left - left) / (width - left - 8) * (lines.length - 1)), 0, lines.length - 1);
    picture.addEventListener("mousemove", event => {
        const line = lineAt(event);
        showTip(say(line), event.clientX, event.clientY);
        setHot(stage ? stage.links[line] ?? -1 : -1);
    });
    picture.addEventListener("mouseleave", () => {
        hideTip();
        setHot(-1);
    });
    picture.addEventListener("click", event => show(lineAt(event)));
    picture.addEventListener("keydown", event => {
        const to = { ArrowRight: cursor + 1, ArrowLeft: cursor - 1, PageDown: cursor + 50, PageUp: cursor - 50, Home: 0, End: lines.length - 1 }[event.key];
        if (to !== undefined)
            move(clamp(to, 0, lines.length - 1));
        else if (event.key === "Enter")
            show(cursor);
        else
            return;
        event.preventDefault();
        event.stopPropagation();
    });
    drawBands(picture, stage);
    return picture;
}

/* Where the code of the line that is pointed to lies. */
function drawBands(picture, stage) {
    if (!picture?.scale)
        return;
    const lines = stage && pointed() >= 0 ? stage.found.get(pointed()) || [] : [], { x, y0, y1 } = picture.scale, runs = [];
    for (const line of lines)
        if (runs.length && line === runs[runs.length - 1][1] + 1)
            runs[runs.length - 1][1] = line;
        else
            runs.push([line, line]);
    picture.querySelector(".bands").replaceChildren(...runs.map(([from, to]) => svg("rect", { class: "band", x: x(from - 0.5), width: Math.max(1, x(to + 0.5) - x(from - 0.5)), y: y0, height: y1 - y0 })));
}
