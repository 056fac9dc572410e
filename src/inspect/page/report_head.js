/* The head of the page: which kernel, its facts, what is found wrong with it. */

function yesNo(value) {
    return value ? "yes" : "no";
}

/* Facts in the order they are shown: name, title, how they are written, whether less is better (-1), more (1), or neither,
   and when a value is bad by itself. Facts that have no row are shown behind these as they are. */
const FACTS = [
    { name: "registers", title: "registers", better: -1 },
    { name: "registers_estimated", title: "registers are an estimate", better: 0, write: yesNo, skip: value => !value },
    { name: "spill_stores", title: "bytes spilled", better: -1, write: bytes, bad: value => value > 0, skip: value => !value },
    { name: "spill_loads", title: "bytes reloaded", better: -1, write: bytes, bad: value => value > 0, skip: value => !value },
    { name: "shared", title: "shared memory", short: "shared", better: -1, write: bytes },
    { name: "warps", title: "warps", better: 0 },
    { name: "stages", title: "stages", better: 0 },
    { name: "ctas", title: "CTAs per cluster", better: 0, skip: value => value === 1 },
    { name: "programs_per_cta", title: "programs per CTA", better: 0, skip: value => value === 1 },
    { name: "teams", title: "teams of warps", better: 0, skip: value => value === 1 },
    { name: "threads", title: "threads", better: 0, skip: (value, facts) => value === 32 * facts.warps * (facts.teams || 1) * (facts.programs_per_cta || 1) },
    { name: "persistent", title: "persistent", better: 0, write: yesNo, skip: value => !value },
    { name: "ctas_per_sm", title: "CTAs per SM", short: "CTAs / SM", better: 1 },
    { name: "warps_per_sm", title: "warps per SM", better: 1, skip: () => true },
    { name: "max_warps_per_sm", title: "warps an SM holds", better: 0, skip: () => true },
    { name: "limited_by", title: "limited by", before: true, better: 0 },
    { name: "occupancy", title: "occupancy", better: 1, write: value => `${Number((100 * value).toFixed(1))} %` },
];

/* How a program's clocks come about. */
function cyclesText(launch) {
    const more = (launch.cycles || 0) - (launch.alone_cycles || 0);
    return `clocks of a program from its beginning to its end: ${count(Math.round(launch.alone_cycles || launch.cycles))} by latency${more >= 1 ? `, and ${count(Math.round(more))} more in which its warps keep a unit busy` : ""}${launch.warp_cycles ? `. Of these a warp lives ${count(Math.round(launch.warp_cycles))}, the mean of its warps: shares are of that` : ""}`;
}

/* What a launch costs, as facts: [title, text, value, better, what it is]. */
function launchFacts(report) {
    const launch = report.profile?.launch;
    if (!launch)
        return [];
    return [
        ["grid", (launch.grid || []).join(" × "), null, 0],
        ["", (launch.arguments || []).filter(text => !text.includes("[")).join("  "), null, 0],
        ["cycles per program", count(launch.cycles), launch.cycles, -1, cyclesText(launch)],
        [`µs predicted${launch.device ? ` on ${launch.device}` : ""}`, launch.microseconds === undefined ? "" : micros(launch.microseconds), launch.microseconds, -1, partsOf(launch).map(([title, part]) => `${micros(part)} ${title}`).join(" + ")],
    ].filter(([, text, value]) => text !== "" && value !== undefined && value !== 0);
}

/* Stages that loops have beside those that were asked for, and by what. */
function stagesTitle(report) {
    const loop = [...(report.loops || [])].sort((a, b) => (b.stages || 1) - (a.stages || 1))[0];
    return loop?.asked && (loop.stages > 1 || loop.asked > 1) ? `stages, ${loop.asked} asked for by ${loop.asked_by}` : "stages";
}

/* What an SM has room for is no limit of a launch that does not fill it: [CTAs that are there, text] or null. */
function unfilled(report) {
    const launch = report.profile?.launch, room = report.facts?.ctas_per_sm;
    return launch?.ctas_at_once > 0 && launch.ctas_at_once < room && !report.facts.persistent ? `CTAs fit on an SM, the launch has ${count(launch.ctas_at_once)} there` : "";
}

function factRows(report) {
    /* What was asked for is an option; what loops have is a fact. */
    const ahead = (report.loops || []).map(loop => loop.stages || 1);
    const facts = { ...report.facts, ...(ahead.length && { stages: Math.max(...ahead) }) }, known = new Set(FACTS.map(fact => fact.name));
    const rows = FACTS.filter(fact => facts[fact.name] !== undefined && facts[fact.name] !== null).map(fact => {
        const value = facts[fact.name];
        return { title: fact.title, short: fact.short || fact.title, before: fact.before, text: (fact.write || count)(value), value, better: fact.better, bad: fact.bad?.(value), skip: fact.skip?.(value, facts) };
    });
    for (const row of rows)
        if (row.title === "stages" && page.reports.length < 2)
            row.title = stagesTitle(report);
        else if (row.title === "CTAs per SM" && page.reports.length < 2)
            row.title = unfilled(report) || row.title;
        else if (["limited by", "occupancy"].includes(row.title))
            row.skip = row.skip || unfilled(report) !== "";
    for (const [name, value] of Object.entries(facts))
        if (!known.has(name) && value !== null && typeof value !== "object")
            rows.push({ title: name.replace(/_/g, " "), short: name.replace(/_/g, " "), text: count(value), value, better: 0 });
    for (const [title, text, value, better, long] of launchFacts(report))
        rows.push({ title, short: title, text, value, better, long });
    return rows;
}

/* Options as words: what a compilation was asked for. */
function optionWords(report) {
    const words = [];
    for (const [name, value] of Object.entries(report.options || {}))
        if (name === "label" || name === "parameters")
            continue;
        else if (name === "constexprs")
            words.push(...Object.entries(value || {}).map(([key, text]) => `${key}=${text}`));
        else if (name === "signature")
            words.push(`(${(value || []).join(", ")})`);
        else if (name === "num_stages" && (report.loops || []).length && report.loops.every(loop => loop.asked_by && loop.asked_by !== "num_stages"))
            words.push(`${name}=${value} (for no loop)`);
        else if (value !== null && value !== false && typeof value !== "object")
            words.push(`${name}=${value}`);
    return words;
}

/* Of two reports what the other has not. */
function optionsText(report) {
    const other = page.reports.find(candidate => candidate !== report), words = optionWords(report);
    return (other ? words.filter(word => !optionWords(other).includes(word)) : words).join("  ") || "same options";
}

function makeHead() {
    const [first, second] = page.reports;
    document.title = `${first.kernel}${second ? ` beside ${second.kernel}` : ""} - tilec explain`;
    page.themeButton = el("button", { type: "button", onclick: nextTheme, title: "Colours: light, dark, or as the system  t" });
    const side = page.sideButtons = second ? page.reports.map((_, index) => el("button", { type: "button", "aria-label": `Panels of ${"AB"[index]}`, title: "Which report the panels show  r", onclick: () => setSide(index) }, "AB"[index])) : [];
    const title = report => [el("h1", {}, report.kernel), report.options?.label && el("span", { class: "mono nowrap" }, report.options.label), el("span", { class: "mono nowrap" }, report.target)];
    const lead = second
        ? page.reports.map((report, index) => [el("span", { class: `side ${"ab"[index]}` }, "AB"[index]), title(report), el("span", { class: "options quiet mono", title: optionWords(report).join("  ") }, optionsText(report))])
        : [title(first), el("span", { class: "options quiet mono", title: optionWords(first).join("  ") }, optionsText(first))];
    byId("head").append(el("div", { class: "bar" }, lead, second && el("span", { class: "nowrap", role: "group", "aria-label": "Whose panels are shown" }, "panels of ", side),
        el("span", { class: "quiet nowrap" }, `tilec ${first.tilec || ""}`), page.themeButton,
        el("button", { type: "button", onclick: showHelp, "aria-label": "Help: keys and colours", title: "Keys and colours  ?" }, "?")));
    byId("head").append(second ? comparedFacts() : factStrip(first), ...[findingCards()].flat());
}

function factStrip(report) {
    return el("div", { class: "facts" }, factRows(report).filter(row => !row.skip).map(row =>
        el("span", { class: `fact ${row.bad ? "bad" : ""}`, title: row.long || (row.text.length > 40 ? row.text : null) }, row.before && el("span", { class: "quiet" }, `${row.title} `), row.value !== true && el("b", {}, row.text),
            !row.before && el("span", { class: "quiet" }, row.value === 1 ? row.title.replace(/^(\w+)s\b/, "$1") : row.title))),
        !(report.findings || []).length && el("span", { class: "fact quiet" }, noFindings()));
}

/* Facts of both below each other, a column a fact; what got worse is coloured and says so. */
function comparedFacts() {
    const [a, b] = page.reports.map(report => new Map(factRows(report).map(row => [row.title, row])));
    const titles = [...new Set([...a.keys(), ...b.keys()])].filter(title => !(a.get(title)?.skip && b.get(title)?.skip));
    const cells = title => {
        const [x, y] = [a.get(title), b.get(title)];
        const known = typeof x?.value === "number" && typeof y?.value === "number", by = known ? y.value - x.value : 0;
        const better = (x || y).better, style = by && better ? (by > 0) === (better > 0) ? "better" : "worse" : "";
        const change = known && by ? `${by > 0 ? "+" : "−"}${x.value ? `${Number((100 * Math.abs(by) / x.value).toPrecision(2))} %` : count(Math.abs(by))}${style ? ` ${style}` : ""}` : known || x?.text === y?.text ? "" : "differs";
        const same = x?.text === y?.text ? " same" : "";
        return [el("td", { class: `mono${same}`, title: x?.long }, x?.text ?? "–"), el("td", { class: `mono${same}`, title: y?.long }, y?.text ?? "–"), el("td", { class: style }, change)];
    };
    const columns = titles.map(cells), line = (head, part) => el("tr", {}, el("th", { scope: "row" }, head), columns.map(column => column[part]));
    return el("div", { class: "beside", tabindex: 0, role: "region", "aria-label": "Facts of both" }, el("table", { class: "sides", "aria-label": "Facts of both" },
        el("thead", {}, el("tr", {}, el("td"), titles.map(title => el("th", { scope: "col" }, (a.get(title) || b.get(title)).short)))),
        el("tbody", {}, line(el("span", { class: "side a" }, "A"), 0), line(el("span", { class: "side b" }, "B"), 1), line(el("span", { class: "quiet" }, "B against A"), 2))));
}

function noFindings() {
    return page.reports.some(report => report.profile) ? "no findings" : "no findings without a run";
}

/* The findings: of two reports those of one alone come first, since they are what differs, and what both say alike is said once. */
function foundOf(reports) {
    const all = reports.map(report => report.findings || []), alike = (a, b) => a.title === b.title && a.figures === b.figures && a.share === b.share && a.gain_us === b.gain_us;
    const other = (finding, side) => (all[1 - side] || []).find(candidate => alike(finding, candidate));
    const found = all.flatMap((findings, side) => findings.filter(finding => !(side && other(finding, side))).map(finding => ({ finding, side, sides: other(finding, side) ? [0, 1] : [side] })));
    return found.sort((a, b) => a.sides.length - b.sides.length);
}

/* Behind a finding stand those that follow from it: they go when it is mended. */
function chained(found) {
    const all = side => page.reports[side].findings || [], causeOf = ({ finding, side }) => (finding.follows > 0 ? all(side)[finding.follows - 1] : undefined);
    const first = found.filter(each => !found.some(other => other.side === each.side && other.finding === causeOf(each)));
    return first.flatMap(cause => [cause, ...found.filter(each => each.side === cause.side && causeOf(each) === cause.finding)]);
}

function findingCards() {
    const found = chained(foundOf(page.reports));
    if (!found.length)
        return "";
    const cards = found.map(({ finding, side, sides }) => findingCard(finding, side, sides));
    const strip = el("div", { class: "findings", role: "region", "aria-label": "Findings, most to gain first", tabindex: 0 }, el("div", { class: "cards" }, cards.map(card => card.node)));
    const all = el("button", { class: "bare nowrap", type: "button", title: "Why, and by which figures, of all findings  w", onclick: () => setWhy(!page.why) });
    page.setWhy = shown => {
        cards.forEach(card => card.show(shown));
        all.setAttribute("aria-pressed", shown);
        all.textContent = shown ? "hide why" : "show why";
    };
    page.setWhy(false);
    return [el("div", { class: "overlap quiet" }, el("span", { class: "grow" }, overlapNote()), all), strip];
}

/* By which other parts of the page name a finding. */
function numberOf(side, finding) {
    return page.reports[side].findings.indexOf(finding) + 1;
}

/* What is wrong, what it costs and what to try are always there; why, and by which figures, on demand. */
function findingCard(finding, side, sides) {
    const cause = finding.follows > 0 ? page.reports[side].findings[finding.follows - 1] : null, costs = finding.gain_us > 0 || finding.share > 0;
    const why = el("button", { class: "bare nowrap", type: "button", title: "Why, and by which figures", "aria-label": `Why: ${finding.title}`, onclick: () => show(why.getAttribute("aria-expanded") !== "true") });
    const more = el("div", { class: "more" }, costs && finding.figures && el("p", {}, figuresWords(finding.figures)), waitLine(side, finding), finding.why && el("p", { class: "cause" }, finding.why), leftLine(finding));
    const show = shown => {
        more.hidden = !shown;
        why.setAttribute("aria-expanded", shown);
        why.textContent = `why ${shown ? "▾" : "▸"}`;
        if (shown)
            node.scrollIntoView({ block: "nearest", inline: "nearest" });
    };
    const node = el("article", { class: `finding${cause ? " follows" : costs ? "" : " aside"}` },
        el("h2", {}, el("span", {}, page.reports.length > 1 && sides.map(of => [el("span", { class: `side ${"ab"[of]}` }, "AB"[of]), " "]), el("span", { class: "number" }, numberOf(side, finding)), " ", el("span", { class: "title" }, finding.title)),
            el("span", { class: "places" }, finding.ptx_line > 0 && ptxButton(side, finding), placeButton(side, finding.at), why)),
        costLine(side, finding, cause),
        !costs && finding.figures && el("p", {}, figuresWords(finding.figures)),
        finding.try && el("p", { class: "try" }, el("b", {}, "Try: "), finding.try), more);
    show(false);
    return { node, show };
}

/* Counts in the words of the compiler as the page writes them; names that end in digits stay as they are. */
function figuresWords(text) {
    return text.replace(/(?<![%#\w.=])\d{4,}(?![\w.])/g, digits => count(Number(digits)));
}

/* By kind of finding what of a record of an instruction it is about; of other kinds it is about instructions of one name. */
const FINDING_COST = {
    bank_conflicts: record => record.wavefronts - record.ideal_wavefronts, few_words: record => (record.words ? record.ideal_wavefronts - record.words / BANKS : 0),
    shared_by_warps: record => record.words - record.first_words - record.own_words, read_again: record => record.own_words,
    uncoalesced: record => record.sectors - record.ideal_sectors, waiting_pipeline: record => record.held_cycles, load_latency: record => record.awaited_cycles,
    barriers: record => record.held_cycles, divergence: record => record.divergent,
};

/* The lines of the PTX that a finding is about, those that cost most first. */
function findingLines(side, finding) {
    const first = finding.ptx_line - 1, stage = ptxStage(side), records = page.profiles[side].ptx, link = linkOf(side, finding.at), name = opcodeOf(stage?.lines[first]);
    const own = FINDING_COST[finding.kind], cost = line => (own || (record => record.cycles || 0))(records.get(line) || {}) || 0;
    const alike = line => finding.kind !== "load_latency" || base(opcodeOf(stage.lines[line])) === base(name), base = opcode => opcode.replace(/\..*/, "");
    const lines = (stage?.found.get(link) || []).filter(line => (own && records.size ? cost(line) > 0 && alike(line) : opcodeOf(stage.lines[line]) === name));
    const clocks = line => records.get(line)?.cycles || 0;
    return [...new Set([first, ...lines])].sort((a, b) => cost(b) - cost(a) || clocks(b) - clocks(a) || (b === first) - (a === first) || a - b);
}

/* Leads to the instruction that costs most of a finding, and to the next one each further time. */
function ptxButton(side, finding) {
    const lines = findingLines(side, finding), many = lines.length > 1;
    let at = -1;
    const name = () => `PTX ${lines[Math.max(0, at)] + 1}${many ? `, instruction ${Math.max(0, at) + 1} of ${lines.length}` : ""}`;
    const button = el("button", { class: "bare", type: "button", title: many ? `${lines.length} instructions of the PTX are what this is about, those that cost most of it first: again for the next one, with Shift for the one before` : "The instruction of the PTX that this is about", onclick: event => {
        at = event.shiftKey ? (Math.max(0, at) + lines.length - 1) % lines.length : (at + 1) % lines.length;
        button.textContent = name();
        page.view.showPtx(side, lines[at]);
    } }, name());
    return button;
}

/* Of a wait what it is for, and of what is waited for who waits: the other end of it is the line to change, or the one that shows it. */
function waitLine(side, finding) {
    const profile = page.profiles[side], link = linkOf(side, finding.at), total = profile.metrics.find(metric => metric.id === "cycles")?.lines.total || 0;
    const [list, words] = finding.kind === "load_latency" ? [profile.linkWaited.get(link), "Waited for at "] : finding.kind === "waiting_pipeline" || finding.kind === "barriers" ? [profile.linkWaits.get(link), "Waits for "] : [[], ""];
    const shown = (list || []).filter(entry => typeof entry.other !== "string" && entry.other >= 0 && entry.cycles >= 0.02 * total).slice(0, 3);
    return shown.length ? el("p", { class: "figures" }, words, shown.map((entry, index) => [index ? ", " : "", el("button", { class: "bare", type: "button", title: sourceText(entry.other).trim(), onclick: () => setPin(entry.other, "link") }, lineText(entry.other, side)),
        ` (${opcodeOf(ptxStage(side)?.lines[entry.line])}, ${percent(entry.cycles / total)})`])) : "";
}

/* What a finding costs: its share of a warp's clocks, and what the launch would gain without it. */
function costLine(side, finding, cause) {
    const report = page.reports[side], whole = report.profile?.launch?.microseconds, parts = [], brings = (report.findings || []).some(other => other.follows > 0 && report.findings[other.follows - 1] === finding);
    if (finding.gain_us > 0 && whole > 0)
        parts.push(el("b", {}, `gains at most ${micros(finding.gain_us)} µs`), ` of ${micros(whole)} µs (${percent(finding.gain_us / whole)})`, brings ? ", with what follows from it" : "", cause ? "" : afterText(finding));
    if (finding.share > 0)
        parts.push(parts.length ? ` · ` : "", `${percent(finding.share)} of a warp's cycles`);
    const from = cause && el("p", { class: "from" }, `↳ follows from ${numberOf(side, cause)}, `, placeButton(side, cause.at) || cause.title, finding.gain_us > 0 && cause.gain_us > 0 ? ": its gain is part of that one's" : "");
    return [from, parts.length ? el("p", { class: "cost", title: COST_TERMS }, parts) : ""];
}

/* What of a gain is left when the first of all findings is mended: less where both are of the same time. */
function afterText({ after_us: after }) {
    return typeof after !== "number" ? "" : after > 0 ? `, about ${micros(after)} µs once 1 is mended` : ", nothing once 1 is mended";
}

/* What a launch takes that a finding is mended in: no gain goes below it. */
function leftLine({ left }) {
    return left ? el("p", { class: "cause", title: partsOf(left).map(([title, part, what]) => `${micros(part)} µs ${title}: ${what}`).join("\n") }, `What would be left: ${micros(left.microseconds)} µs = ${partsOf(left).map(([title, part]) => `${micros(part)} ${title}`).join(" + ")}.`) : "";
}

const COST_TERMS = "Gains at most: the time of the launch minus the time predicted without this cause and what follows from it, all else unchanged; an upper bound, since something else may take its place.\nOf a warp's cycles: the mean of a program's warps, as in the column cycles.";

/* What gains and shares are of, and why neither adds up. */
function overlapNote() {
    const told = page.reports.filter(report => (report.findings || []).some(finding => finding.share > 0 || finding.gain_us > 0)), lives = told.map(report => report.profile?.launch?.warp_cycles).filter(Boolean);
    return told.length ? `A gain is at most what mending one cause saves. A share is of a warp's cycles${lives.length ? ` (${lives.map(clocks => count(Math.round(clocks))).join(" and ")}, the mean)` : ""}; a wait is in two shares, of who waits and of what is waited for. So neither adds up.` : "";
}

function percent(part) {
    return `${(100 * part).toFixed(part < 0.0995 ? 1 : 0)} %`;
}

/* Why, and by which figures, of all findings or of none. */
function setWhy(shown) {
    page.why = shown;
    page.setWhy?.(shown);
    keep();
}

/* Themes: as the system has it, light, dark. */
function setTheme(theme) {
    page.theme = theme;
    if (theme === "auto")
        delete document.documentElement.dataset.theme;
    else
        document.documentElement.dataset.theme = theme;
    page.themeButton.textContent = theme;
    page.themeButton.setAttribute("aria-label", `Colours: ${theme}`);
    emit("theme");
}

function nextTheme() {
    setTheme({ auto: "light", light: "dark", dark: "auto" }[page.theme]);
    keep();
}

function setSide(side) {
    page.side = clamp(side, 0, page.reports.length - 1);
    page.sideButtons.forEach((button, index) => button.setAttribute("aria-pressed", index === page.side));
    emit("side");
}

const KEYS = [
    ["j k ↓ ↑", "next, previous line"], ["PgDn PgUp g G", "next, previous page; first, last line"],
    ["Enter", "pin or unpin the line"], ["Esc", "unpin it; close what is open"],
    ["o", "to its code in the other pane"], ["s", "to the source"],
    ["u U", "to what the line waits for; to what waits for it"], ["[ ]", "previous, next stage"],
    ["c C", "next, previous change"], ["x", "changes: hidden, marked, with removed lines"],
    ["/ n N", "search the pane in focus; next, previous match"], ["h", "columns of figures on, off"],
    ["1 .. 9", "open a panel, in the order of the tabs"], ["0", "close the panels"],
    ["f", "panels over the whole page, and back"], ["w", "why, and by which figures: shown, folded"],
    ["r", "panels of the other report"], ["t", "light, dark, as the system"],
    ["Tab ← →", "next control; within tabs, lists and charts"], ["+ −", "zoom a layout in, out"], ["?", "this help"],
];

/* What figures are called. */
const TERMS = [
    ["cycles", "clocks that a warp spends at the line, the mean of a program's warps, with those that units stay busy after them; all lines add up to the warp's life. Hatched: waiting"],
    ["cycles per program", "clocks from its beginning to its end: by latency, or as long as its warps keep a unit busy. A warp may live shorter than its program"],
    ["cause", "the same clocks, but a wait counts at what is waited for: of several copies at the one that ends last"],
    ["waited", "clocks that a warp stands still at the line"], ["awaited", "clocks that a warp stands still elsewhere for a result of the line"],
    ["gains at most", "time of the launch minus the time predicted without this cause and what follows from it, all else unchanged; gains of several causes overlap"],
    ["share", "of a finding: its part of the cycles of a warp, the mean of a program's warps. A wait is in two shares, that of the line that waits and that of what it waits for; work that nothing is wrong with is in none. So shares add up to no 100 %"],
    ["sector", "32 bytes of global memory, the least that moves; ideal: as few as hold the bytes that are used"],
    ["wavefront", "one pass through the 32 banks of shared memory; ideal: as few as each access would need without bank conflicts. That lanes or warps ask for the same words is a finding of its own"],
    ["phase", "part of a warp's access that shared memory serves at once: all 32 lanes with up to 4 bytes each, 16 with 8 bytes, 8 with 16. Each phase takes a wavefront of its own, and more with bank conflicts"],
    ["moved, used, distinct", "bytes of whole sectors; bytes that threads asked for; the same without repetitions"],
    ["●", "the compiler remarks on this line: see the panel Remarks"],
];

function showHelp() {
    const old = byId("help");
    if (old)
        return old.open ? old.close() : openHelp(old);
    const dialog = el("dialog", { id: "help", "aria-labelledby": "help-title", tabindex: -1 }, el("h2", { id: "help-title" }, "Keys", el("button", { type: "button", onclick: () => dialog.close() }, "Close")),
        el("dl", {}, KEYS.map(([keys, what]) => [el("dt", {}, keys.split(" ").map(key => key === ".." ? ".. " : [el("kbd", {}, key), " "])), el("dd", {}, what)])),
        el("h2", {}, "Reading the page"),
        el("p", {}, "The stripe beside a line has the colour of the source line that it comes from. Pointing at a line highlights its lines in the other pane; a click or Enter keeps them highlighted. The strip at the right of a pane is an overview of the whole text: highlighted lines, changes, remarks, and the part in view."),
        el("p", {}, "Numbers of stages are those of the compiler's passes: one that changed nothing has no stage, so that numbers are left out. A green + marks lines that the previous stage does not have; a dashed line is where lines were removed. Numbers of values are not compared, since one new op renumbers all that follow. Counts come from the simulator; times are its prediction for the device."),
        el("dl", {}, TERMS.map(([term, what]) => [el("dt", {}, term), el("dd", {}, what)])));
    document.body.append(dialog);
    openHelp(dialog);
}

/* From its beginning, whatever of it takes the focus. */
function openHelp(dialog) {
    dialog.showModal();
    dialog.focus();
    dialog.scrollTop = 0;
}
