/* The panels below the code: tabs, tables of what was counted, remarks. */

/* Each panel: `why(report)` says why there is nothing to show, "" if there is; `make(report, side)` makes its content anew
   for another report, `restore` and `read` are what the fragment keeps of it. */
const PANELS = [
    { id: "measured", title: "Measured", silent: true, why: report => ((report.pictures || []).length ? "" : "measured"), make: makeMeasuredPanel },
    { id: "lines", title: "Lines", why: report => (!report.profile ? "lines: nothing was run (give arguments with -g and -a)" : (report.profile.lines || []).length ? "" : "lines: the run counted nothing"), make: makeLinesPanel },
    { id: "layouts", title: "Layouts", why: report => ((report.layouts || []).length ? "" : "layouts: there are no tiles"), make: makeLayoutsPanel },
    { id: "banks", title: "Banks", why: noBanks, make: makeBanksPanel },
    { id: "loops", title: "Loops", why: report => ((report.loops || []).length ? "" : "loops: there are none"), make: makeLoopsPanel },
    { id: "shared", title: "Shared memory", why: report => ((report.shared?.buffers || []).length ? "" : report.facts?.shared ? "shared memory: only inline PTX declares some (its accesses are in Banks)" : "shared memory: none is used"), make: makeSharedPanel },
    { id: "registers", title: "Registers", why: report => ((report.registers?.lines || []).some(live => live > 0) ? "" : "registers: none are live"), make: makeRegistersPanel },
    { id: "remarks", title: "Remarks", why: report => ((report.remarks || []).length ? "" : "remarks: there are none"), make: makeRemarksPanel },
];

/* Pictures as they were drawn, each a document of its own, on its own ground. */
function makeMeasuredPanel(body, report) {
    body.tabIndex = 0;
    body.append(...report.pictures.map(picture => el("img", { class: "pad", alt: picture.title, src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(picture.svg)}` })));
}

function makeDock() {
    const dock = byId("dock");
    const tabs = PANELS.map(panel => el("button", { type: "button", role: "tab", id: `tab-${panel.id}`, "aria-controls": "panel" }));
    const why = el("span", { class: "why" }), body = el("div", { class: "panel", id: "panel", role: "tabpanel", tabindex: -1 });
    const list = el("div", { role: "tablist", "aria-label": "Panels" }, tabs);
    const full = el("button", { type: "button", "aria-label": "Panels over the whole page", title: "Over the whole page  f", onclick: () => setDock(page.dock === "full" ? "open" : "full") }, "⤢");
    const close = el("button", { type: "button", "aria-label": "Close the panels", title: "Close  0", onclick: () => setDock(page.dock === "closed" ? "open" : "closed") }, "▾");
    dock.append(el("div", { class: "tabs" }, list, why, full, close), body);
    roving(tabs, index => showPanel(PANELS[index].id));
    page.dockParts = { tabs, why, body, full, close };
    const refresh = () => {
        const report = page.reports[page.side], absent = PANELS.map(panel => panel.why(report)), told = absent.filter((text, index) => text && !PANELS[index].silent);
        PANELS.forEach((panel, index) => {
            tabs[index].hidden = absent[index] !== "";
            tabs[index].textContent = panel.title;
        });
        why.textContent = told.length ? `Not shown: ${told.join("; ")}.` : "";
        why.title = why.textContent;
        showPanel(page.panel);
    };
    on("side", refresh);
    movable(byId("split"), true, by => {
        const height = clamp(dock.clientHeight - by, 120, innerHeight - 160);
        byId("main").style.setProperty("--dock", `${height}px`);
    }, () => {});
}

/* Panels that listen to events stop when another takes their place. */
let panelStops = [];

function panelOn(event, action) {
    let live = true;
    on(event, detail => live && action(detail));
    panelStops.push(() => (live = false));
}

function showPanel(id) {
    const report = page.reports[page.side], { tabs, body } = page.dockParts;
    const shown = PANELS.find(panel => panel.id === id && !panel.why(report)) || PANELS.find(panel => !panel.why(report));
    panelStops.forEach(stop => stop());
    panelStops = [];
    body.replaceChildren();
    body.className = "panel";
    body.tabIndex = -1;
    tabs.forEach((tab, index) => {
        const selected = PANELS[index] === shown;
        tab.setAttribute("aria-selected", selected);
        tab.tabIndex = selected ? 0 : -1;
    });
    if (!shown)
        return setDock("closed");
    page.panel = shown.id;
    body.setAttribute("aria-labelledby", `tab-${shown.id}`);
    if (page.dock === "closed")
        setDock("open");
    shown.make(body, report, page.side);
    keep();
}

function setDock(how) {
    page.dock = how;
    byId("main").dataset.dock = how;
    page.dockParts.full.setAttribute("aria-pressed", how === "full");
    page.dockParts.close.textContent = how === "closed" ? "▴" : "▾";
    page.dockParts.close.setAttribute("aria-label", how === "closed" ? "Open the panels" : "Close the panels");
    keep();
}

function openCode() {
    if (page.dock === "full")
        setDock("open");
}

/* A table that its heads sort. Columns are {title, of(row) -> value, text(row) -> text or node, style, numeric}. */
function sortedTable(label, columns, rows, first, linkOfRow, rising) {
    let by = first, down = !rising;
    const heads = columns.map((column, index) => el("th", { scope: "col", class: `${column.numeric ? "" : "left"}${column.title === "source" ? " text" : ""}` }, el("button", { type: "button", title: column.long || "", onclick: () => {
        down = by === index ? !down : Boolean(column.numeric);
        by = index;
        fillRows();
    } }, column.title)));
    const body = el("tbody");
    const table = el("table", { class: "figures", "aria-label": label }, el("thead", {}, el("tr", {}, heads)), body);
    const fillRows = () => {
        heads.forEach((head, index) => {
            head.setAttribute("aria-sort", index !== by ? "none" : down ? "descending" : "ascending");
            head.firstChild.textContent = columns[index].title + (index === by ? (down ? "\u00a0▾" : "\u00a0▴") : "");
        });
        const order = rows.map((row, index) => [columns[by].of(row), index]).sort(([a, i], [b, j]) => ((a === undefined) - (b === undefined)) || (typeof a === "string" ? a.localeCompare(b) : a - b) * (down ? -1 : 1) || i - j);
        body.replaceChildren(...order.map(([, index]) => {
            const row = rows[index], link = linkOfRow ? linkOfRow(row) : -1;
            return el("tr", { "data-link": link, onmouseenter: () => link >= 0 && setHot(link), onmouseleave: () => setHot(-1) },
                columns.map(column => el("td", { class: `${column.numeric ? "" : "left"} ${column.style?.(row) || ""}` }, column.text ? column.text(row) || "" : count(column.of(row)))));
        }));
        mark();
    };
    const mark = () => [...body.children].forEach(row => row.classList.toggle("linked", Number(row.dataset.link) >= 0 && Number(row.dataset.link) === pointed()));
    fillRows();
    panelOn("hot", mark);
    return table;
}

/* What figures are held to. */
const IDEAL = { sectors: "over the fewest that hold the bytes that are used", wavefronts: "over the fewest that each access needs for its words, which are those without bank conflicts" };

function makeLinesPanel(body, report, side) {
    const profile = page.profiles[side], rows = [...profile.lines].map(([link, record]) => ({ link, record }));
    const has = name => rows.some(({ record }) => record[name] > 0);
    const number = (name, title, long) => has(name) && { title, long, numeric: true, of: ({ record }) => record[name], text: ({ record }) => (record[name] ? count(record[name]) : "") };
    const ratio = (metric, title) => has(metric) && { title, long: IDEAL[metric], numeric: true, of: ({ record }) => record[`ideal_${metric}`] > 0 ? record[metric] / record[`ideal_${metric}`] : undefined,
        text: ({ record }) => record[`ideal_${metric}`] > 0 ? (record[metric] / record[`ideal_${metric}`]).toFixed(2) : "", style: ({ record }) => record[metric] > record[`ideal_${metric}`] * 1.05 ? "over" : "" };
    const cycles = profile.metrics.find(metric => metric.id === "cycles")?.lines.total;
    const columns = [
        { title: "line", of: row => row.link, text: row => el("button", { class: "bare", type: "button", onclick: () => setPin(row.link, "link") }, lineText(row.link, side).replace("line ", "")) },
        { title: "source", of: row => sourceText(row.link).trim(), text: row => sourceSpan(row.link), style: () => "text" },
        number("cycles", "cycles", "clocks that a warp spends at the line, the mean of all: it executes, waits, or is in a queue for a unit"),
        cycles && { title: "%", long: "of all cycles, which are a warp's life", numeric: true, of: ({ record }) => record.cycles, text: ({ record }) => record.cycles ? (100 * record.cycles / cycles).toFixed(1) : "" },
        profile.linkWaits.size && number("caused_cycles", "cause", "the same clocks, where a wait counts at the line that is waited for: cycles, less what the line waits for other lines, and what is awaited"),
        number("wait_cycles", "waited", "clocks of these that a warp stands still at the line, for other lines, for what the line itself makes, or for other warps"), waitsColumn(profile, side),
        number("awaited_elsewhere", "awaited", "clocks that a warp stands still at other lines for what this one makes, copies or lets go on; of several copies of a group the one that ends last counts"),
        number("queued_cycles", "in queue", "clocks of the cycles in which warps had nothing to do but wait for a unit that the line keeps busy for all of them"),
        number("warps", "instructions", "instructions of PTX executed, each counted once a warp; the clock issues what ptxas makes of them: moves are none, 64 bits are two"), number("threads", "of threads", "instructions executed, each counted once a thread"), number("divergent", "divergent", "instructions that a part of a warp's threads executed"),
        number("sectors", "sectors", "of 32 bytes, of global memory"), ratio("sectors", "× ideal"),
        number("wavefronts", "wavefronts", "of shared memory, of all programs"), ratio("wavefronts", "× ideal"),
        number("shared_clocks", "L1 clocks", "clocks of a program that the line keeps shared memory and L1 busy: one for each wavefront, and one for each 128 bytes of global memory that pass through. All lines add up to its least time"),
    ].filter(Boolean);
    const first = Math.max(2, columns.findIndex(column => column.title === "cycles"));
    body.classList.add("flow");
    body.append(el("div", { class: "column", tabindex: 0, role: "region", "aria-label": "Figures of lines", vars: { flex: "1 1 0", padding: "0" } }, sortedTable("Figures by line of the source", columns, rows, first, row => row.link)),
        el("div", { class: "column", tabindex: 0, role: "region", "aria-label": "Figures of the launch", vars: { flex: "0 0 clamp(280px, 19vw, 300px)" } }, timeBars(report), latencyBars(report, side), classBars(report.profile), trafficTable(report.profile)));
}

/* The text of a line as a cell, whole in its title. */
function sourceSpan(link) {
    const text = sourceText(link).trim();
    return el("span", { title: text }, text);
}

/* For whom a line waits most: another line, others, or where neither is most of it itself: what its own instructions make. */
function waitsColumn(profile, side) {
    const own = ({ link, record }) => record.wait_cycles - (profile.linkWaits.get(link) || []).reduce((sum, wait) => sum + wait.cycles, 0);
    const most = row => {
        const [first] = profile.linkWaits.get(row.link) || [], rest = own(row);
        return rest >= 0.05 && rest > (first?.cycles || 0) ? { other: "itself", cycles: rest } : first;
    }, name = wait => (typeof wait.other === "string" ? wait.other : lineText(wait.other, side));
    return profile.linkWaits.size > 0 && { title: "waits for", long: "what most of the waiting is for; itself: what other instructions of the line make", of: row => most(row) && name(most(row)), text: row => {
        const wait = most(row);
        return wait && (typeof wait.other === "string" ? wait.other : el("button", { class: "bare", type: "button", title: sourceText(wait.other).trim(), onclick: () => setPin(wait.other, "link") }, name(wait)));
    } };
}

/* What a least time is of, by its name in the report. */
const BOUND_TERMS = { latency: "each program as if it had the SM to itself, one round after another; what it waits for is below", unit: "how long the programs of an SM keep its busiest unit busy", other: "how long the programs of an SM keep it busy", l2: "bytes between SMs and L2, at the rate of L2", dram: "bytes of DRAM, at its rate" };

/* What the launch would take if only one thing held it up; the longest does: [name, microseconds, what it is], of units those that are no trifle. */
function leastTimes(time) {
    const most = Math.max(...Object.values(time?.bounds || {}), 0), bounds = time?.bounds || {}, units = Object.entries(time?.units || { [time?.unit || "unit"]: bounds.unit });
    return [["latency", bounds.latency, BOUND_TERMS.latency], ...units.map(([name, took]) => [name, took, BOUND_TERMS[name === time.unit ? "unit" : "other"]]), ["L2", bounds.l2, BOUND_TERMS.l2], ["DRAM", bounds.dram, BOUND_TERMS.dram]]
        .filter(([name, took]) => took > 0 && (took >= 0.1 * most || ["latency", "L2", "DRAM"].includes(name))).sort(([, x], [, y]) => y - x);
}

function timeBars(report) {
    const launch = report.profile.launch, times = leastTimes(launch), most = Math.max(...times.map(([, took]) => took));
    return times.length ? [el("h3", {}, "Least time, by what limits it"), el("div", { class: "bars" }, times.map(([name, took, what]) => [
        el("span", { title: what }, name), el("span", { class: "track" }, el("i", { vars: { width: `${100 * took / most}%` } })), el("span", { class: "num" }, `${micros(took)} µs`)])), timeParts(report)] : [];
}

/* Parts of a time in the order of the sum: [member, title, what it is]. */
const SUM = [["launch", "empty launch", "what a launch takes that does nothing"], ["longest", "", "the longest of the least times"],
    ["beside", "others beside it", "of the units only the busiest counts here, beside latency, L2 and DRAM. What is shorter hides behind the longest, but not wholly: two limits a and b together take the cube root of a³ + b³. One as long as the longest adds 26 % to it, one half as long 4 %"],
    ["uneven", "longest program", "some programs take longer than the mean"], ["code", "fetching code", "machine code comes from L2 once, which hides behind the rest in the same way: the shorter that is, the more it shows"]];

/* The parts that a time is the sum of: [title, microseconds, what it is]. */
function partsOf(time) {
    const parts = time?.parts;
    return parts ? SUM.map(([part, title, what]) => [part === "longest" ? parts.name : title, parts[part], what]).filter(([, part]) => part > 0.004) : [];
}

/* The sum that the launch's time is, and what it would be without each of the first findings. */
function timeParts(report) {
    const launch = report.profile.launch, rows = partsOf(launch), gains = (report.findings || []).map((finding, index) => ({ finding, number: index + 1 })).filter(({ finding }) => finding.left).slice(0, 3);
    if (!rows.length)
        return [];
    const columns = [{ time: launch, title: "now", long: "as it is" }, ...gains.map(({ finding, number }) => ({ time: finding.left, title: String(number), long: `without finding ${number}: ${finding.title}` }))];
    const names = [...new Set(columns.flatMap(({ time }) => SUM.filter(([part]) => time.parts[part] > 0.004).map(([part]) => part)))], cells = of => columns.map(column => el("td", { title: of(column.time)[1] || null }, of(column.time)[0]));
    return [el("h3", {}, `What the ${micros(launch.microseconds)} µs of the launch are`), el("table", { class: "figures", "aria-label": "Parts of the launch's time" },
        el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "left" }, ""), columns.map(column => el("th", { scope: "col", title: column.long }, column.title)))),
        el("tbody", {}, SUM.filter(([part]) => names.includes(part)).map(([part, title, what]) => el("tr", {}, el("td", { class: "left", title: what, vars: { "white-space": "normal", "font-family": "inherit" } }, part === "longest" ? launch.parts.name : title), cells(time => [micros(time.parts[part]), part === "longest" ? `by ${time.parts.name}` : ""]))),
            el("tr", {}, el("td", { class: "left", vars: { "font-family": "inherit" } }, el("b", {}, "sum")), cells(time => [micros(time.microseconds), ""])))),
        gains.length > 0 && el("p", { class: "quiet" }, `${gains.map(({ number }) => number).join(", ")}: without the finding of that number, in the order of the cards.${gains.map(({ finding, number }) => (finding.left.parts.name === launch.parts.name ? "" : ` In ${number} the longest is ${finding.left.parts.name}.`)).join("")}`)];
}

/* The waits that latency is made of: results that instructions wait for, and instructions that hold warps up by themselves. */
function waitsOf(report, side) {
    const ptx = report.stages.find(stage => stage.kind === "ptx")?.lines || [], records = [...page.profiles[side].ptx];
    const warps = Math.max(1, records.sort(([a], [b]) => a - b).find(([, record]) => record.warps > 0)?.[1].warps || 1), found = [];
    for (const [line, record] of records) {
        const name = opcodeOf(ptx[line]), times = record.warps / warps;
        if (record.awaited_cycles > 0)
            found.push({ line, name, times, clocks: record.awaited_cycles, what: "for the result of" });
        if (record.held_cycles > 0)
            found.push({ line, name, times, clocks: record.held_cycles, held: true, what: `for ${HELD_FOR.find(([form]) => form.test(name))?.[1] || "others"} at` });
    }
    return found.sort((a, b) => b.clocks - a.clocks || a.line - b.line);
}

/* Where the clocks of a warp go by: waits by what they are for, waiting for units, and what it executes. Latency is made of them. */
function latencyBars(report, side) {
    const launch = report.profile.launch, alone = launch?.alone_cycles, lives = launch?.warp_cycles || launch?.cycles, waits = waitsOf(report, side);
    if (!(alone > 0) || !waits.length)
        return [];
    const all = waits.reduce((sum, wait) => sum + wait.clocks, 0), shown = waits.slice(0, 5).filter(wait => wait.clocks >= 0.02 * lives), rest = all - shown.reduce((sum, wait) => sum + wait.clocks, 0);
    const queued = (report.profile.ptx || []).reduce((sum, record) => sum + (record.queued_cycles || 0), 0);
    const row = (label, clocks, note) => [el("div", { class: "wait" }, label, note && el("span", { class: "quiet" }, ` ${note}`)), el("span", { class: "track" }, el("i", { vars: { width: `${Math.min(100, 100 * clocks / lives)}%` } })), el("span", { class: "num" }, `${count(Math.round(clocks))}  ${percent(clocks / lives)}`)];
    const link = line => page.profiles[side].ptx.get(line) && page.reports[side] ? linkOf(side, report.stages.find(stage => stage.kind === "ptx").at[line]) : -1;
    const crowded = launch.cycles - alone || 0;
    const otherEnd = wait => {
        const [most] = page.profiles[side][wait.held ? "waits" : "waited"].get(wait.line) || [], end = most && typeof most.other !== "string" ? link(most.other) : -1;
        return end >= 0 && end !== link(wait.line) ? `, ${wait.held ? "mostly for" : "mostly at"} ${lineText(end, side)}` : "";
    };
    return [el("h3", {}, "What a warp's clocks consist of"),
        el("p", { class: "quiet" }, `By latency a program takes ${count(alone)} clocks; with ${plural(launch.rounds || 1, "round")} of programs on an SM that makes ${micros(launch.bounds?.latency || 0)} µs${crowded >= 1 ? `. At its end all its warps together still keep ${launch.crowded_by || launch.unit} busy for ${count(Math.round(crowded))} clocks more, ${count(launch.cycles)} in all` : ""}. A warp lives ${count(Math.round(lives))} clocks${launch.cycles - lives >= 1 ? " of these" : ""} in the mean, which shares are of everywhere:`),
        el("div", { class: "bars waits" }, shown.map(wait => row(["waits ", wait.what, " ", el("button", { class: "bare mono", type: "button", title: sourceText(link(wait.line)).trim(), onclick: () => page.view.showPtx(side, wait.line) }, wait.name)], wait.clocks,
            `${link(wait.line) >= 0 ? `${lineText(link(wait.line), side)}, ` : ""}${count(Number(wait.times.toPrecision(3)))} × ${count(Math.round(wait.clocks / Math.max(wait.times, 1e-9)))} clocks${otherEnd(wait)}`)),
        rest >= 0.5 && row(shown.length ? "waits elsewhere" : "waits", rest, plural(waits.length - shown.length, "place")), queued >= 0.5 && row("is in a queue", queued, "for units that all warps together keep busy"), row("executes", Math.max(0, lives - all - queued)))];
}

function classBars(profile) {
    const classes = [...(profile.classes || [])].filter(entry => entry.warps > 0).sort((a, b) => b.warps - a.warps);
    const total = classes.reduce((sum, entry) => sum + entry.warps, 0);
    return classes.length ? [el("h3", {}, "Instructions by class"), el("div", { class: "bars" }, classes.map(entry => [
        el("span", {}, entry.name), el("span", { class: "track" }, el("i", { vars: { width: `${100 * entry.warps / classes[0].warps}%` } })),
        el("span", { class: "num" }, `${brief(entry.warps)}  ${(100 * entry.warps / total).toFixed(1)} %`)]))] : [];
}

function trafficTable(profile) {
    const rows = Object.entries(profile.traffic || {}).filter(([, traffic]) => traffic && traffic.moved > 0);
    return rows.length ? [el("h3", {}, "Global memory"), el("table", { class: "figures", "aria-label": "Traffic of global memory" },
        el("thead", {}, el("tr", {}, ["", "moved", "used", "distinct"].map(title => el("th", { scope: "col", class: title ? "" : "left" }, title)))),
        el("tbody", {}, rows.map(([name, traffic]) => el("tr", {}, el("td", { class: "left" }, name), ["moved", "used", "distinct"].map(key =>
            el("td", { class: key === "moved" && traffic.moved > 1.05 * traffic.used ? "over" : "" }, traffic[key] === undefined ? "" : bytes(traffic[key])))))))] : [];
}

function makeRemarksPanel(body, report, side) {
    const order = ["error", "warning", "remark", "note"];
    const columns = [
        { title: "line", of: remark => linkOf(side, remark.at), text: remark => placeButton(side, remark.at, linkOf(side, remark.at) >= 0 ? lineText(linkOf(side, remark.at), side).replace("line ", "") + (remark.column ? `:${remark.column}` : "") : "–") },
        { title: "severity", of: remark => order.indexOf(remark.severity), text: remark => remark.severity, style: remark => `sev-${remark.severity}` },
        { title: "what", of: remark => remark.name || "", text: remark => remark.name || "" },
        { title: "remark", of: remark => remark.text, style: () => "wide", text: remark => [el("span", {}, remark.text), remark.help && el("span", { class: "quiet" }, ` Help: ${remark.help}`),
            (remark.notes || []).map(note => el("div", { class: "quiet" }, placeButton(side, note.at), ` ${note.text}`))] },
    ];
    body.tabIndex = 0;
    body.append(sortedTable("Remarks of the compiler", columns.filter(column => column.title !== "what" || report.remarks.some(remark => remark.name)), report.remarks, 0, remark => linkOf(side, remark.at), true));
}
