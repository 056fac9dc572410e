/* Pictures: pipelines of loops, shared memory over time, registers over the code. */

/* Kinds of ops of a loop: the row of its role that they stand in, a hue, what the legend calls them. */
const OP_KINDS = {
    copy: { lane: "copies", hue: "#56b4e9", name: "asynchronous copy" }, global: { lane: "global memory", hue: "#0072b2", light: true, name: "load or store of global memory" },
    shared: { lane: "shared memory", hue: "#cc79a7", name: "access of shared memory" }, product: { lane: "products", hue: "#009e73", name: "product (dot)" },
    arithmetic: { lane: "arithmetic", hue: "#e69f00", name: "arithmetic" }, exchange: { lane: "exchanges", hue: "#f0e442", name: "exchange between lanes" }, inline: { lane: "inline PTX", hue: "#8c564b", name: "PTX of the source, of which the model knows nothing" },
    wait: { lane: "waits, barriers", hue: "#d55e00", name: "wait" }, barrier: { lane: "waits, barriers", hue: "#b3b3b3", name: "barrier" }, queue: { lane: "in a queue", hue: "#7a4fa3", light: true, name: "queue for a unit that all warps keep busy" }, control: { lane: "control", hue: "#8a8f98", name: "branch" },
};
const OP_LANES = ["copies", "global memory", "shared memory", "products", "arithmetic", "inline PTX", "exchanges", "waits, barriers", "in a queue", "control", "other"];

/* Widths of texts in pictures, in pixels, and the first of some texts that fits; "" if none does. */
const CODE_WIDTH = 6.4, WORD_WIDTH = 6.1;

function fitText(texts, width, each) {
    return texts.find(text => text && text.length * each <= width) || "";
}

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

/* A picture as wide as its place; made anew when that changes, or its height where that is the place's own. */
function fitted(place, make) {
    const ownHeight = place.classList.contains("sheet");
    let width = 0, height = 0;
    const redraw = () => {
        [width, height] = [place.clientWidth, place.clientHeight];
        if (width)
            make(width);
    };
    const observer = new ResizeObserver(() => (place.clientWidth !== width || ownHeight && place.clientHeight !== height) && redraw());
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
    return explains(bar, () => text, () => link >= 0 && togglePin(link, "picture"));
}

/* Loops */

function makeLoopsPanel(body, report, side) {
    body.tabIndex = 0;
    const roles = report.loops.flatMap(loop => loop.roles || []), ran = roles.some(role => role.run), ahead = roles.some(role => (role.ops || []).some(op => op.ahead));
    const used = new Set(roles.flatMap(role => [...(role.ops || []), ...(role.run?.pieces || [])].map(op => op.kind))), kinds = [...Object.keys(OP_KINDS).filter(kind => used.delete(kind)), ...used];
    body.append(el("div", { class: "legend pad" }, kinds.map(kind => el("span", { class: "nowrap" }, el("span", { class: "swatch", vars: { background: kindOf({ kind }).hue } }), kindOf({ kind }).name || kind)),
        ran && [roles.some(role => [...(role.run?.pieces || []), ...(role.run?.units || [])].some(part => part.replays >= 0.5)) && el("span", { class: "nowrap" }, el("span", { class: "swatch", vars: { background: REPLAYS } }), "replays of bank conflicts"), el("span", { class: "nowrap" }, el("span", { class: "swatch flight" }), "thin line: what it loads, stores or copies is on the way"), roles.some(role => role.run?.units?.length) && el("span", { class: "nowrap" }, el("span", { class: "swatch", vars: { background: "#8a8f9899" } }), "unit kept busy by all warps of a program")],
        el("span", { class: "quiet" }, `The axis counts clocks. Two iterations are shown, the second one paler, with a line where each begins; bars that cross the line overlap with the next iteration.${ahead ? " +1: for the iteration after this one." : ""}`)));
    [...report.loops].sort((a, b) => (b.stages || 0) - (a.stages || 0)).forEach(loop => {
        const turns = loop.trips || loop.turns, trips = turns ? `, ${count(turns)} iteration${turns === 1 ? "" : "s"}` : "";
        const each = loop.turn_cycles ? `, ${count(Math.round(loop.turn_cycles))} clocks per iteration in the mean of all warps` : "";
        body.append(el("h3", { class: "pad" }, "Loop at ", placeButton(side, loop.at, null) || "no line", `: ${loop.stages > 1 ? `copies ${plural(loop.stages - 1, "iteration")} ahead` : "starts no copies ahead"}${loop.asked && (loop.stages > 1 || loop.asked_by !== "num_stages") ? ` (${plural(loop.asked, "stage")} asked for by ${loop.asked_by})` : ""}${trips}${each}`));
        body.append(el("div", { class: "loops" }, loopViews(loop, report, side).map(view => loopView(view, loop, side))));
    });
}

/* What bank conflicts add is of no other kind's colour. */
const REPLAYS = "#a3001e";

/* The pictures of a loop, on one scale: as it ran, where that is known, and as schedules have it. */
function loopViews(loop, report, side) {
    const ran = (loop.roles || []).filter(role => role.run).map(role => ({ name: role.name, warps: role.warps, clocks: role.run.clocks, units: role.run.units, ops: role.run.pieces.map(piece => pieceOp(piece, role.run, side, loop)), run: role.run }));
    const why = report.profile ? "No iteration as it ran was kept: the loop has another one within, or runs less than twice" : "Nothing was run; with arguments (-g, -a) an iteration by the simulator's clock is shown beside it";
    const views = [{ roles: (loop.roles || []).map(role => ({ ...role, run: null })), title: "Compiler's model of the schedule:", note: `what the compiler goes by, not what ran: an estimate for one warp alone, whose ops begin in their order, each with the machine's mean latency; without waits for other warps and without bank conflicts${loop.once ? "; a loop within counts as one iteration of it" : ""}.${ran.length ? "" : ` ${why}.`}` }];
    if (ran.length)
        views.unshift({ roles: ran, title: "As it ran, by the simulator's clock:", note: ran.map(({ name, run }) => `${ran.length > 1 ? `${name}: ` : ""}warp ${run.warp} of program ${run.program}, iteration ${count(run.turn)} of ${count(run.turns)}, ${count(Math.round(run.clocks))} clocks${crowdText(run)}`).join("; ") });
    const most = Math.max(...views.map(view => spanOf(view.roles)));
    return views.map(view => ({ ...view, span: most }));
}

/* What of it is waiting for a unit that all warps together keep busy. */
function crowdText(run) {
    const queues = run.pieces.filter(piece => piece.kind === "queue"), clocks = queues.reduce((sum, piece) => sum + piece.to - piece.from, 0), unit = run.units.find(unit => unit.name === queues[0]?.unit);
    return clocks >= 1 && unit ? `, ${count(Math.round(clocks))} of them in a queue for ${unit.name}, which all warps together keep busy for ${count(Math.round(unit.clocks))} clocks per iteration` : "";
}

/* Multiply-adds of a line are its product where the model has one there. */
function isProduct(piece, side, loop) {
    const same = op => op.kind === "product" && linkOf(side, op.at) === linkOf(side, piece.at);
    return piece.kind === "arithmetic" && /^(fma|mad)\b/.test(opcodeOf(ptxStage(side)?.lines[piece.ptx[0] - 1])) && (loop.roles || []).some(role => (role.ops || []).some(same));
}

function pieceOp(piece, run, side, loop) {
    const one = piece.ptx[0] === piece.ptx[1], lines = one ? `PTX ${piece.ptx[0]}` : `PTX ${piece.ptx[0]} to ${piece.ptx[1]}, ${plural(piece.count, "instruction")}`;
    return { ...piece, ...(isProduct(piece, side, loop) && { kind: "product" }), text: lines, labels: one ? [lines] : [`PTX ${piece.ptx[0]}–${piece.ptx[1]}`], ahead: 0, last: piece.kind === "queue" && piece.to > run.clocks - 0.5, conflicts: piece.replays > 0.5 ? `, of which ${count(Math.round(piece.replays))} are replays of bank conflicts` : "", turns: run.turns };
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
    const roles = all.filter(role => (role.ops || []).length), left = leftOf(roles), picture = [], period = periodOf(roles), scale = (width - left - 8) / span;
    let y = 18;
    picture.push(svg("text", { class: "dim", x: left - 8, y: 11, "text-anchor": "end" }, "clocks"));
    for (const at of ticks(span, width - left, 70))
        picture.push(svg("text", { class: "dim", x: left + at * scale, y: 11, "text-anchor": !at ? "start" : left + at * scale > width - 16 ? "end" : "middle" }, count(at)), svg("line", { class: "grid", x1: left + at * scale, x2: left + at * scale, y1: 15, y2: "100%" }));
    for (const role of roles) {
        const lanes = OP_LANES.map(name => ({ name, ops: role.ops.filter(op => kindOf(op).lane === name) })).filter(lane => lane.ops.length);
        picture.push(svg("text", { x: 0, y: y + 10, "font-weight": 600 }, roleName(role)), role.run ? svg("text", { class: "dim", x: 0, y: y + 23 }, `here: warp ${role.run.warp}`) : role.warps && svg("text", { class: "dim", x: 0, y: y + 23 }, `${role.warps} warp${role.warps === "1" ? "" : "s"}`));
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
    const drawn = svg("svg", { width, height: y + 2, role: "group", "aria-label": `${title} ${plural(roles.length, "role")}, an iteration takes about ${count(Math.round(period))} clocks; arrow keys move` }, picture);
    return oneStop(drawn, [...drawn.querySelectorAll(".bar")]);
}

function roleName(role) {
    return role.name === "all" ? "all warps" : role.name;
}

/* Room for the names of roles and of their rows. */
function leftOf(roles) {
    const names = roles.flatMap(role => [...(role.ops || []).map(op => kindOf(op).lane), ...(role.units || []).map(unit => `${unit.name}, all`)]);
    return Math.ceil(WORD_WIDTH * (Math.max(6, ...roles.map(role => Math.max(roleName(role).length, role.run ? `here: warp ${role.run.warp}`.length : 0))) + Math.max(...names.map(name => name.length), 6))) + 26;
}

/* What all warps of a program occupy in an iteration: a unit that is busy for longer than the warp's own iteration is what holds it up. */
function unitBars(role, picture, { left, y, scale, width }) {
    const units = [...(role.units || [])].sort((a, b) => b.clocks - a.clocks).filter((unit, index) => index < 3 && unit.clocks >= 0.2 * role.clocks);
    for (const unit of units) {
        const label = `${count(Math.round(unit.clocks))} clocks${unit.wavefronts >= 1 && unit.wavefronts < unit.clocks - 1 && !(unit.replays >= 1) ? `, ${count(Math.round(unit.wavefronts))} of them wavefronts` : ""}${unit.replays >= 1 ? `, ${count(Math.round(unit.replays))} of them replays` : ""}`;
        const wide = unit.clocks * scale, fits = left + wide + 4 + label.length * WORD_WIDTH < width, replays = Math.min(unit.replays, unit.clocks) * scale;
        const text = `${unit.name}: all ${role.warps} warps of a program keep it busy for ${count(Math.round(unit.clocks))} clocks per iteration${unit.wavefronts >= 1 ? `: ${count(Math.round(unit.wavefronts))} wavefronts of shared memory, ${count(Math.round(unit.clocks - unit.wavefronts))} lines of 128 bytes that pass through L1` : ""}${unit.replays >= 1 ? `; ${count(Math.round(unit.replays))} of the wavefronts are replays of bank conflicts` : ""}`;
        picture.push(svg("text", { class: "dim", x: left - 8, y: y + 10, "text-anchor": "end" }, `${unit.name}, all`),
            linkedBar(-1, text, svg("rect", { x: left, y, width: Math.max(1.5, wide), height: 12, fill: "#8a8f98", "fill-opacity": 0.6 }), replays > 0.5 && svg("rect", { x: left + wide - replays, y, width: replays, height: 12, fill: REPLAYS }),
                svg("text", fits ? { class: "dim", x: left + wide + 4, y: y + 10 } : { class: "halo", x: Math.min(left + wide, width) - 4, y: y + 10, "text-anchor": "end" }, label)));
        y += 17;
    }
    return y + (units.length ? 3 : 0);
}

function opBar(op, side, box, scale, span) {
    const ahead = op.ahead ? `\nfor ${op.ahead === 1 ? "the next iteration" : `the iteration ${op.ahead} later`}` : "", link = linkOf(side, op.at), { hue, light } = kindOf(op);
    const later = op.until > op.to + 0.5 ? `, ends at ${count(Math.round(op.until))}` : "", held = op.waits ? `\nthe warp stands still${heldFor(op, side)}; what it has begun before goes on` : op.kind === "queue" ? `\nno warp goes on before ${op.unit} has done what all of them ask for; what it has begun before goes on${op.last ? ". The mean of all iterations, shown at the end of one: the clock knows that at the end of the program" : ""}` : "";
    const text = `${op.text}\n${op.kind}, ${link >= 0 ? lineText(link, side) : "no line"}, iteration ${op.turn ? "i + 1" : "i"}${ahead}\nclocks ${count(Math.round(op.from))} to ${count(Math.round(op.to))}${op.conflicts || ""}${later}${held}`;
    const plain = op.text.replace(/^%[\w.]+ = /, ""), before = op.ahead ? `+${op.ahead} ` : "", labels = (op.labels || [plain, plain.replace(/ \{.*/, ""), plain.replace(/ .*/, "")]).map(text => before + text);
    const label = fitText([...labels, op.kind, before.trim()], box.width - 5, CODE_WIDTH);
    const pale = op.turn ? 0.45 : 1, replays = Math.min(op.replays || 0, op.to - op.from) * scale, flight = (Math.min(op.until ?? op.to, span) - op.to) * scale;
    return linkedBar(link, text, svg("rect", { ...box, rx: 1, fill: hue, "fill-opacity": pale }),
        flight > 1 && svg("rect", { x: box.x + box.width, y: box.y + box.height / 2 - 1.5, width: flight, height: 3, fill: hue, "fill-opacity": 0.55 * pale }),
        replays > 0.5 && svg("rect", { class: "replays", x: box.x + box.width - replays, y: box.y, width: replays, height: box.height, fill: REPLAYS, "fill-opacity": pale }),
        label && box.height > 10 && !(replays > 0.5) && svg("svg", { ...box, width: box.width - 3, "aria-hidden": "true" }, svg("text", { class: "on", x: 3, y: 9, style: op.turn ? "fill: var(--text)" : light ? "fill: #fff" : "" }, label)));
}

/* Of a piece that stands still what it waits for, where one instruction is known to make it. */
function heldFor(op, side) {
    const wait = op.ptx && (page.profiles[side].waits.get(op.ptx[0] - 1) || [])[0];
    if (!wait)
        return "";
    return typeof wait.other === "string" ? `: ${wait.other}` : `: mostly for PTX ${wait.other + 1}, ${opcodeOf(ptxStage(side)?.lines[wait.other])} of ${lineText(ptxStage(side)?.links[wait.other] ?? -1, side)}`;
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
        { title: "× ideal", long: "wavefronts over the fewest that would do, of reading or writing, whichever is worse", numeric: true, of: buffer => conflict(buffer) || undefined, text: buffer => (conflict(buffer) ? conflict(buffer).toFixed(1) : ""), style: buffer => (conflict(buffer) > 1.05 ? "over" : "") },
    ];
    body.append(place, el("div", { class: "column", tabindex: 0, role: "region", "aria-label": "Buffers", vars: { flex: "0 1 430px", padding: "0" } }, sortedTable("Buffers", columns, buffers, 4, buffer => linkOf(side, buffer.at), true),
        el("p", { class: "pad quiet" }, `${bytes(report.shared.bytes)} a CTA${limit ? ` of at most ${bytes(limit)}` : ""}. Buffers that live at different steps may share addresses.`)));
    const mark = linkedMarks(place);
    fitted(place, width => {
        place.replaceChildren(sharedPicture(report.shared, total, side, width - 20, Math.max(140, place.clientHeight - 16)));
        mark();
    });
}

function sharedPicture(shared, total, side, width, height) {
    const left = 58, top = 20, bottom = 30, most = Math.max(total, ...shared.buffers.map(buffer => buffer.offset + buffer.bytes), 1), steps = Math.max(1, shared.steps, ...shared.buffers.map(buffer => buffer.to));
    const across = (width - left - 6) / steps, down = (height - top - bottom) / most, picture = [];
    const unit = 2 ** Math.ceil(Math.log2(most * 26 / (height - top - bottom)));
    for (let value = 0; value <= most; value += unit)
        picture.push(svg("text", { class: "dim", x: left - 5, y: top + value * down + 4, "text-anchor": "end" }, bytes(value)), svg("line", { class: "grid", x1: left, x2: width, y1: top + value * down, y2: top + value * down }));
    for (const at of ticks(steps, width - left, 60))
        picture.push(svg("text", { class: "dim", x: left + at * across, y: height - 17, "text-anchor": !at ? "start" : left + at * across > width - 12 ? "end" : "middle" }, at));
    picture.push(svg("line", { class: "limit", x1: left, x2: width, y1: top + total * down, y2: top + total * down }),
        svg("text", { class: "dim", x: 0, y: 11 }, fitText([`address in shared memory; dashed: ${bytes(total)}, the end of the program's`, `address; dashed: end, ${bytes(total)}`, "address"], width, WORD_WIDTH)), svg("text", { class: "dim", x: left + (width - left) / 2, y: height - 3, "text-anchor": "middle" }, fitText(["step: ops of the final Tile IR, in order", "step"], width - left, WORD_WIDTH)));
    shared.buffers.forEach((buffer, index) => {
        const box = { x: left + buffer.from * across, y: top + buffer.offset * down, width: Math.max(2, (buffer.to - buffer.from) * across), height: Math.max(2, buffer.bytes * down) };
        const link = linkOf(side, buffer.at), copies = buffer.copies || 1, color = CATEGORIES[index % CATEGORIES.length];
        const bank = ["read", "written"].filter(way => buffer.banks?.[way] > 0).map(way => `${way} with ${buffer.banks[way].toFixed(1)} × the wavefronts of an access without conflicts`).join(", ");
        const text = `${buffer.name} ${buffer.type || ""}\n${bytes(buffer.bytes)} from byte ${count(buffer.offset)}, ${copies === 1 ? "one copy" : `${copies} copies, one for each stage`}\nsteps ${buffer.from} to ${buffer.to}, ${lineText(link, side)}${bank ? `\n${bank}` : ""}`;
        const named = `${buffer.name} ${buffer.type || ""}`, label = fitText([copies > 1 && `${named} × ${copies}`, named, buffer.name], box.width - 8, CODE_WIDTH);
        const parts = Array.from({ length: copies - 1 }, (_, copy) => svg("line", { x1: box.x, x2: box.x + box.width, y1: box.y + (copy + 1) * box.height / copies, y2: box.y + (copy + 1) * box.height / copies, stroke: "#000", "stroke-opacity": 0.4, "stroke-dasharray": "3 2" }));
        picture.push(linkedBar(link, text, svg("rect", { ...box, fill: color }), box.height > 4 * copies && parts,
            label && box.height >= 12 && svg("text", { class: "on", x: box.x + 4, y: box.y + 11, style: `fill: ${inkOn(color)}` }, label)));
    });
    const drawn = svg("svg", { width, height, role: "group", "aria-label": "Shared memory: addresses downwards, steps of the kernel to the right; arrow keys move" }, picture);
    return oneStop(drawn, [...drawn.querySelectorAll(".bar")]);
}

/* Registers */

const NO_INSTRUCTION = /^\s*(?:$|\.|\/\/|[$\w]+:|\{|\})/;

/* Lines that are no instructions have no live registers; there what lives before them still does. */
function withoutGaps(lines, stages) {
    const text = stages.find(stage => stage.kind === "ptx")?.lines || [];
    let before = 0;
    return lines.map((live, line) => (before = live === 0 && NO_INSTRUCTION.test(text[line] ?? "") ? before : live));
}

/* What was really compiled, and what live counts. */
function registersText(report) {
    const { limit, limit_by: by, dropped, taken } = report.registers;
    return `The curve: 32-bit values of a thread that are still needed at a line of the PTX, before ptxas reorders and allocates. More than a thread can have does not mean spills. ${limit ? `Limit: ${limit} registers${by ? `, set by ${by}` : ""}. ` : ""}${taken ? `Allocated: ${plural(taken, "register")} a thread${report.facts.registers_estimated ? " (an estimate: there is no assembler)" : ", as ptxas says"}. ` : ""}${dropped ? `A limit of ${dropped} was taken back, since the code spilled with it. ` : ""}`;
}

function makeRegistersPanel(body, report, side) {
    const place = el("div", { class: "sheet pad" }), { limit } = report.registers;
    const lines = withoutGaps(report.registers.lines, report.stages);
    const stage = ptxStage(side), isInstruction = line => !stage || !NO_INSTRUCTION.test(stage.lines[line] ?? "");
    const top = lines.map((live, line) => ({ live, line })).sort((a, b) => b.live - a.live || isInstruction(b.line) - isInstruction(a.line) || a.line - b.line);
    const marks = registerMarks(report, limit);
    const most = new Map();
    if (stage)
        lines.forEach((live, line) => {
            const link = stage.links[line] ?? -1;
            if (link >= 0 && isInstruction(line) && live > (most.get(link)?.live || 0))
                most.set(link, { link, live, line });
        });
    const show = line => page.view.showPtx(side, line);
    body.classList.add("flow");
    body.append(place, el("div", { class: "column", tabindex: 0, role: "region", "aria-label": "Registers by line", vars: { flex: "0 1 400px", padding: "0" } },
        el("p", { class: "pad quiet" }, registersText(report)),
        sortedTable("Most live registers by line of the source", [
            { title: "line", of: row => row.link, text: row => el("button", { class: "bare", type: "button", onclick: () => setPin(row.link, "link") }, lineText(row.link, side).replace("line ", "")) },
            { title: "live", long: "most 32-bit values, before allocation, that are live at one of its instructions", numeric: true, of: row => row.live },
            { title: "PTX", long: "line of the PTX where they are", numeric: true, of: row => row.line + 1, text: row => el("button", { class: "bare", type: "button", onclick: () => show(row.line) }, String(row.line + 1)) },
            { title: "source", of: row => sourceText(row.link).trim(), text: row => sourceSpan(row.link), style: () => "text" },
        ], [...most.values()], 1, row => row.link)));
    let cursor = top.length ? top[0].line : 0;
    const say = line => `PTX line ${line + 1}: ${plural(lines[line], "value")} live, before allocation${line === top[0].line ? ", the most" : ""}${stage ? `\n${(stage.lines[line] || "").trim() || "(no instruction)"}` : ""}${stage && stage.links[line] >= 0 ? `\n${lineText(stage.links[line], side)}: ${sourceText(stage.links[line]).trim()}` : ""}`;
    const redraw = fitted(place, width => place.replaceChildren(registerPicture({ lines, marks, stage, cursor, peak: top[0], say, show, move: line => {
        cursor = line;
        setHot(stage ? stage.links[line] ?? -1 : -1);
        tell(say(line).replace(/\n/g, " · "));
        redraw();
        place.firstChild.focus();
    } }, width - 20, Math.max(120, place.clientHeight - 16))));
    panelOn("hot", () => drawBands(place.firstChild, stage));
}

/* Lines across the chart: what a thread may have, and what it got. */
function registerMarks(report, limit) {
    const given = report.registers.taken || report.facts?.registers, marks = limit > 0 ? [{ value: limit, style: "limit", text: `limit ${limit}` }] : [];
    return given > 0 ? [...marks, { value: given, style: "given", text: `allocated ${given}` }] : marks;
}

function registerPicture({ lines, marks, stage, cursor, peak, say, show, move }, width, height) {
    const left = 52, top = 20, bottom = 30, most = Math.max(peak.live * 1.08, 1, ...marks.filter(mark => mark.value <= 2 * peak.live).map(mark => mark.value * 1.04)), beyond = marks.filter(mark => mark.value > most);
    const x = line => left + (width - left - 8) * line / Math.max(1, lines.length - 1), y = live => top + (height - top - bottom) * (1 - live / most);
    const path = lines.map((live, line) => `${line ? "L" : "M"}${x(line).toFixed(1)} ${y(live).toFixed(1)}`).join("");
    const picture = svg("svg", { width, height, tabindex: 0, role: "application", "aria-label": `Live registers of a thread over the lines of the PTX; ${say(peak.line).replace(/\n/g, ", ")}. Arrow keys move, Enter shows the line.` },
        svg("text", { class: "dim", x: 0, y: 11 }, fitText([`values of a thread that are live${beyond.length ? ` (above this chart: ${beyond.map(mark => mark.text).join(", ")})` : ""}`, "live values"], width, WORD_WIDTH)), svg("text", { class: "dim", x: left + (width - left) / 2, y: height - 3, "text-anchor": "middle" }, "line of the PTX"),
        ticks(most, height - top - bottom, 24).map(value => [svg("text", { class: "dim", x: left - 5, y: y(value) + 4, "text-anchor": "end" }, value), svg("line", { class: "grid", x1: left, x2: width - 8, y1: y(value), y2: y(value) })]),
        ticks(lines.length - 1, width - left, 60).map(line => svg("text", { class: "dim", x: x(line), y: height - 17, "text-anchor": x(line) > width - 20 ? "end" : "middle" }, line || "")),
        svg("g", { class: "bands" }),
        svg("path", { class: "area", d: `${path}L${x(lines.length - 1)} ${y(0)}L${x(0)} ${y(0)}Z` }), svg("path", { class: "curve", d: path }),
        marks.filter(mark => mark.value <= most).map(({ value, style, text }, index) => [svg("line", { class: style, x1: left, x2: width - 8, y1: y(value), y2: y(value) }), svg("text", { class: "halo", x: width - 10 - index * 110, y: y(value) - 3, "text-anchor": "end" }, text)]),
        svg("line", { class: "cursor", x1: x(cursor), x2: x(cursor), y1: top, y2: height - bottom }), svg("circle", { cx: x(cursor), cy: y(lines[cursor]), r: 3, fill: "var(--text)" }));
    picture.scale = { x, y0: top, y1: height - bottom };
    const lineAt = event => clamp(Math.round((event.clientX - picture.getBoundingClientRect().left - left) / (width - left - 8) * (lines.length - 1)), 0, lines.length - 1);
    picture.addEventListener("mousemove", event => {
        const line = lineAt(event);
        tell(say(line).replace(/\n/g, " · "));
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
