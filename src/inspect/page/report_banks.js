/* The banks panel: which banks of shared memory a warp's access of a buffer touches, and which of its lanes collide. */

/* Buffers and layouts of tiles of the same shape and stage: {buffer, tile}. Tiles of several types share a layout, so
   that elements are as wide as the buffer's. */
function bankPairs(report) {
    const all = (report.layouts || []).map(entry => ({ entry, layout: makeLayout(entry) })), pairs = [];
    for (const buffer of all.filter(({ layout }) => layout.shared && rankOf(layout.bases) === layout.out && layout.bases.length === layout.out))
        for (const tile of all.filter(({ layout }) => !layout.shared && layout.bits[1] === 5))
            if (buffer.layout.out === tile.layout.out && (buffer.entry.stage || "") === (tile.entry.stage || "") && String(buffer.entry.shape) === String(tile.entry.shape))
                pairs.push({ buffer, tile });
    return pairs;
}

/* Accesses as they ran, of each instruction the one that took most wavefronts, whoever made its addresses. Those whose conflicts cost most come first, then
   those with most wavefronts. */
function ranAccesses(report, side) {
    const counted = page.profiles[side]?.ptx || new Map();
    const beyond = ({ ran, record }) => (record ? record.wavefronts - record.ideal_wavefronts : ran.wavefronts - ran.ideal_wavefronts), all = ({ ran, record }) => record?.wavefronts ?? ran.wavefronts;
    const worst = ({ ran }) => ran.wavefronts / Math.max(1, ran.ideal_wavefronts);
    return [...(report.profile?.shared || [])].map(ran => ({ ran, record: counted.get(ran.line - 1) })).sort((a, b) => beyond(b) - beyond(a) || worst(b) - worst(a) || all(b) - all(a) || a.ran.line - b.ran.line);
}

function hasConflicts(ran) {
    return ran.wavefronts > ran.ideal_wavefronts;
}

/* In the form of sharedAccess: one access, whose lanes have the addresses that they had. */
function ranAccess(ran) {
    const lanes = new Map();
    for (let lane = 0; lane < 32; lane++)
        if (ran.mask >>> lane & 1)
            lanes.set(lane, ran.addresses[lanes.size]);
    const phases = Math.max(1, ran.size / WORD);
    const words = (_, lane) => {
        const first = lanes.get(lane), found = [];
        for (let at = Math.floor(first / WORD); lanes.has(lane) && at * WORD < first + ran.size; at++)
            found.push(at);
        return found;
    };
    return { ran, accesses: 1, bytes: ran.size, phases, phaseLanes: 32 / phases, words, lanes };
}

/* Why there are no banks to show. */
function noBanks(report) {
    if (bankPairs(report).length || (report.profile?.shared || []).length)
        return "";
    return report.profile ? "banks: the run accessed no shared memory" : "banks: no tile has a buffer of the same shape, and nothing was run (-g and -a show the accesses of a run, those of inline PTX too)";
}

function makeBanksPanel(body, report, side) {
    const pairs = bankPairs(report), ran = ranAccesses(report, side), drawing = el("div", { class: "sheet pad" }), words = el("div");
    const name = ({ entry }) => ((entry.values || [])[0] ? `${entry.values[0]} (layout ${entry.name})` : `of layout ${entry.name}`);
    const stage = ptxStage(side);
    const told = ({ ran: access }) => `PTX ${access.line}: ${opcodeOf(stage?.lines[access.line - 1])}, ${plural(access.wavefronts, "wavefront")}${hasConflicts(access) ? `, ${access.ideal_wavefronts} would do` : ""}`;
    const option = wanted => ran.flatMap((each, index) => (hasConflicts(each.ran) === wanted ? [el("option", { value: `ran ${index}` }, told(each))] : []));
    const groups = [["With bank conflicts, as it ran: the worst access of each instruction", option(true)], ["Without conflicts, as it ran", option(false)],
        ["By layouts: a tile in a buffer", pairs.map((each, index) => el("option", { value: `pair ${index}` }, `tile ${name(each.tile)} in buffer ${name(each.buffer)}: ${each.buffer.entry.shape.join("×")} of ${each.buffer.entry.type}`))]];
    const pair = el("select", { "aria-label": "Access, or buffer and tile", onchange: () => choose() }, groups.filter(([, options]) => options.length).map(([label, options]) => el("optgroup", { label }, options)));
    const number = el("input", { type: "number", min: 0, value: 0, "aria-label": "Access of the thread", vars: { width: "7ch" }, oninput: () => draw() });
    const of = el("span", { class: "quiet" }), which = el("label", {}, "access", number, of);
    let access = null;
    const choose = () => {
        const [kind, index] = pair.value.split(" ");
        if (kind === "ran")
            access = ranAccess(ran[index].ran);
        else
            access = sharedAccess(pairs[index].tile.layout, pairs[index].buffer.layout, elementBytes(pairs[index].buffer.entry));
        number.value = 0;
        number.max = access.accesses - 1;
        of.textContent = `of ${access.accesses}`;
        which.hidden = kind === "ran";
        draw();
    };
    const draw = () => {
        const at = clamp(Number(number.value) || 0, 0, access.accesses - 1);
        const room = drawing.clientHeight - 12, phases = Array.from({ length: access.phases }, (_, phase) => phaseOf(access, at, phase)).filter(phase => phase.banks.some(bank => bank.size));
        const wavefronts = phases.reduce((sum, phase) => sum + phase.wavefronts, 0);
        words.replaceChildren(...(access.ran ? ranWords(access, stage, side, ran.find(each => each.ran === access.ran).record) : [el("h3", {}, `${(wavefronts / access.phases).toFixed(2)} wavefronts per phase, 1 would do`), el("p", {}, `A thread moves ${plural(access.bytes, "byte")} at a time (${plural(access.vector, "element")}) in ${plural(access.accesses, "access", "accesses")}. A warp's access is served in ${plural(access.phases, "phase")} of ${access.phaseLanes} lanes.`)]),
            ran.length && !ran.some(each => hasConflicts(each.ran)) ? el("p", {}, "No access that ran has bank conflicts.") : "",
            foldedRows(phases, room) ? el("p", {}, "A higher panel shows all wavefronts: ", el("kbd", {}, "f"), ", or drag its upper edge.") : "",
            el("p", { class: "quiet" }, "Columns are the 32 banks of 4 bytes, rows are wavefronts; a cell names the lane whose word is served there, and “+3” that three more lanes read the same word, which costs nothing. Colours are lanes, from 0 (dark) to 31 (light). A phase is the part of an access that is served at once: all 32 lanes with up to 4 bytes each, 16 with 8 bytes, 8 with 16. It takes as many wavefronts as its busiest bank has different words; words of two phases never meet."));
        drawing.replaceChildren(bankPicture(phases, access, room));
    };
    fitted(drawing, () => access && draw());
    panelOn("ptx", shown => {
        const index = shown.side === side ? ran.findIndex(each => each.ran.line === shown.line + 1) : -1;
        if (index < 0)
            return;
        pair.value = `ran ${index}`;
        choose();
    });
    body.classList.add("flow");
    body.append(el("div", { class: "drawn", vars: { "border-left": "0" } }, el("div", { class: "tools" }, pair, which), drawing),
        el("div", { class: "column", vars: { flex: "0 0 290px" } }, words));
    choose();
}

/* What is told of an access that ran. */
function ranWords(access, stage, side, record) {
    const { ran } = access, link = stage?.links[ran.line - 1] ?? -1, lanes = [...access.lanes], steps = new Set(lanes.slice(1).map(([, address], index) => address - lanes[index][1]));
    return [el("h3", {}, `${plural(ran.wavefronts, "wavefront")}, ${hasConflicts(ran) ? `${ran.ideal_wavefronts} would do` : ran.wavefronts > 1 ? "one for each phase: no conflicts" : "no conflicts"}`),
        el("p", {}, `As it ran on the simulator: warp ${ran.warp} of program ${ran.program} ${ran.reads ? "reads" : "writes"} ${plural(ran.size, "byte")} for each of ${plural(lanes.length, "lane")}, bytes ${Math.min(...ran.addresses)} to ${Math.max(...ran.addresses) + ran.size - 1} of shared memory${steps.size === 1 ? `, ${plural(Math.abs([...steps][0]), "byte")} from lane to lane` : ""}. This is the access of the instruction with most wavefronts.`),
        record && el("p", {}, `All of its accesses: ${plural(record.wavefronts, "wavefront")}${record.wavefronts > record.ideal_wavefronts ? `, ${count(record.ideal_wavefronts)} would do` : ""}.`),
        el("p", {}, el("button", { class: "bare", type: "button", onclick: () => page.view.showPtx(side, ran.line - 1) }, `PTX ${ran.line}`), " ", link >= 0 && el("button", { class: "bare", type: "button", onclick: () => setPin(link, "link") }, lineText(link, side)))].filter(Boolean);
}

/* Rows are as high as lets all of them stand in the panel, but not lower than their numbers; where there is no room for
   that, the last wavefronts of phases that take many are told in one row. */
const NUMBERED = 12, PHASE_GAP = 6, BANKS_TOP = 24;

function rowHeight(rows, phases, room) {
    return clamp(Math.floor((room - BANKS_TOP - PHASE_GAP * phases.length) / rows), NUMBERED, 16);
}

/* How many rows of each phase are shown: all where 0. */
function foldedRows(phases, room) {
    const fit = Math.floor((room - BANKS_TOP - PHASE_GAP * phases.length) / NUMBERED), rows = phases.reduce((sum, phase) => sum + phase.wavefronts, 0);
    return rows <= fit ? 0 : Math.max(3, Math.floor(fit / phases.length));
}

function bankPicture(phases, access, room) {
    const most = foldedRows(phases, room) || Infinity, shown = phases.map(phase => (phase.wavefronts <= most ? phase.wavefronts : most - 1)), told = phases.map((phase, index) => shown[index] + (phase.wavefronts > shown[index]));
    const rows = told.reduce((sum, each) => sum + each, 0), high = rowHeight(rows, phases, room);
    const wide = 25, left = 74, picture = [svg("text", { x: left - 6, y: 11, "text-anchor": "end", class: "dim" }, "bank")];
    for (let bank = 0; bank < BANKS; bank++)
        picture.push(svg("text", { x: left + bank * wide + wide / 2, y: 11, "text-anchor": "middle", class: "dim" }, bank));
    let row = 0;
    phases.forEach((phase, index) => {
        const top = 18 + row * high + index * PHASE_GAP, rest = phase.wavefronts - shown[index];
        picture.push(svg("text", { x: left - 6, y: top + Math.min(12, high + 2), "text-anchor": "end", class: "dim" }, `lanes ${index * access.phaseLanes}-${(index + 1) * access.phaseLanes - 1}`));
        phase.banks.forEach((words, bank) => [...words].slice(0, shown[index]).forEach(([word, lanes], at) => picture.push(bankCell(phase, bank, word, lanes, at, { x: left + bank * wide, y: top + at * high, width: wide - 1, height: high - 1 }))));
        for (let at = 0; at < told[index]; at++)
            picture.push(svg("line", { class: at ? "grid" : "axis", x1: left, x2: left + BANKS * wide, y1: top + at * high - 0.5, y2: top + at * high - 0.5 }));
        if (rest > 0)
            picture.push(svg("text", { class: "dim", x: left + 4, y: top + shown[index] * high + high - 3 }, `and ${plural(rest, "wavefront")} more`));
        row += told[index];
    });
    const all = phases.reduce((sum, phase) => sum + phase.wavefronts, 0);
    const drawn = svg("svg", { width: left + BANKS * wide + 4, height: BANKS_TOP + rows * high + phases.length * PHASE_GAP, role: "group", "aria-label": `Banks of an access: ${all} wavefronts in ${phases.length} phases; arrow keys move` }, picture);
    return oneStop(drawn, [...drawn.querySelectorAll(".bar")]);
}

/* A word of a bank that lanes have. */
function bankCell(phase, bank, word, lanes, at, box) {
    const color = rampColor(lanes[0] / 31);
    const text = `bank ${bank}, word ${word}, bytes ${word * WORD} to ${word * WORD + 3}\nlane${lanes.length > 1 ? "s" : ""} ${lanes.join(", ")}\nwavefront ${at + 1} of ${phase.wavefronts}`;
    return explains(svg("g", { class: "bar", role: "img", "aria-label": text.replace(/\n/g, ", ") }, svg("rect", { ...box, fill: color }),
        svg("text", { x: box.x + box.width / 2, y: box.y + box.height - 3, "text-anchor": "middle", class: "on", style: `fill: ${inkOn(color)}` }, lanes.length > 1 ? `${lanes[0]}+${lanes.length - 1}` : lanes[0])), () => text);
}
