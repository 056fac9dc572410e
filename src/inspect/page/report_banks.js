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

function makeBanksPanel(body, report) {
    const pairs = bankPairs(report), drawing = el("div", { class: "sheet pad" }), words = el("div");
    const name = ({ entry }) => `${entry.name} ${(entry.values || [])[0] || ""}`.trim();
    const pair = el("select", { "aria-label": "Buffer and tile", onchange: () => choose() }, pairs.map((each, index) => el("option", { value: index }, `${each.buffer.entry.shape.join("×")}×${each.buffer.entry.type}: buffer ${name(each.buffer)}, tile ${name(each.tile)}`)));
    const number = el("input", { type: "number", min: 0, value: 0, "aria-label": "Access of the thread", vars: { width: "7ch" }, oninput: () => draw() });
    const of = el("span", { class: "quiet" });
    let access = null;
    const choose = () => {
        const { buffer, tile } = pairs[Number(pair.value)];
        access = sharedAccess(tile.layout, buffer.layout, elementBytes(buffer.entry));
        number.value = 0;
        number.max = access.accesses - 1;
        of.textContent = `of ${access.accesses}`;
        draw();
    };
    const draw = () => {
        const at = clamp(Number(number.value) || 0, 0, access.accesses - 1);
        const phases = Array.from({ length: access.phases }, (_, phase) => phaseOf(access, at, phase));
        const wavefronts = phases.reduce((sum, phase) => sum + phase.wavefronts, 0);
        words.replaceChildren(el("h3", {}, `${(wavefronts / access.phases).toFixed(2)} wavefronts a phase, where 1 would do`), el("p", {}, `A thread moves ${plural(access.bytes, "byte")} at a time (${plural(access.vector, "element")}) in ${plural(access.accesses, "access", "accesses")}. A warp's access is served in ${plural(access.phases, "phase")} of ${access.phaseLanes} lanes.`),
            el("p", { class: "quiet" }, "A column is one of the 32 banks, 4 bytes wide, a row one wavefront; a cell says which lanes have their word served there. A phase takes as many wavefronts as its busiest bank has distinct words."));
        drawing.replaceChildren(bankPicture(phases, access));
    };
    body.classList.add("flow");
    body.append(el("div", { class: "drawn", vars: { "border-left": "0" } }, el("div", { class: "tools" }, pair, el("label", {}, "access", number, of)), drawing),
        el("div", { class: "column", vars: { flex: "0 0 290px" } }, words));
    choose();
}

function bankPicture(phases, access) {
    const wide = 25, high = 16, left = 74, rows = phases.reduce((sum, phase) => sum + phase.wavefronts, 0), picture = [];
    for (let bank = 0; bank < BANKS; bank++)
        picture.push(svg("text", { x: left + bank * wide + wide / 2, y: 11, "text-anchor": "middle", class: "dim" }, bank));
    let row = 0;
    phases.forEach((phase, index) => {
        const top = 18 + row * high + index * 6;
        picture.push(svg("text", { x: left - 6, y: top + 12, "text-anchor": "end", class: "dim" }, `lanes ${index * access.phaseLanes}-${(index + 1) * access.phaseLanes - 1}`));
        phase.banks.forEach((words, bank) => [...words].forEach(([word, lanes], at) => {
            const color = rampColor(lanes[0] / 31);
            picture.push(explains(svg("g", {}, svg("rect", { x: left + bank * wide, y: top + at * high, width: wide - 1, height: high - 1, fill: color }),
                svg("text", { x: left + bank * wide + wide / 2 - 0.5, y: top + at * high + 11, "text-anchor": "middle", class: "on", style: `fill: ${inkOn(color)}` }, lanes.length > 1 ? `${lanes[0]}+${lanes.length - 1}` : lanes[0])),
            () => `bank ${bank}, word ${word}, bytes ${word * WORD} to ${word * WORD + 3}\nlane${lanes.length > 1 ? "s" : ""} ${lanes.join(", ")}\nwavefront ${at + 1} of ${phase.wavefronts}`));
        }));
        for (let at = 0; at < phase.wavefronts; at++)
            picture.push(svg("line", { class: at ? "grid" : "axis", x1: left, x2: left + BANKS * wide, y1: top + at * high - 0.5, y2: top + at * high - 0.5 }));
        row += phase.wavefronts;
    });
    return svg("svg", { width: left + BANKS * wide + 4, height: 24 + rows * high + phases.length * 6, role: "img", "aria-label": `Banks of an access: ${rows} wavefronts in ${phases.length} phases` }, picture);
}
