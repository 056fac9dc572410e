/* The source and the stages beside each other. */

/* Of a column of figures, and of a character of code, as the style has them. */
const HEAT_WIDTH = 58, CODE_ADVANCE = 6.95, NOTE_PADDING = 50;

const KINDS = { ast: "Syntax tree", tir: "Tile IR", ll: "LLVM IR", ptx: "PTX", sass: "SASS" };

/* Words of a note, as much of them as is shown; it leads somewhere or not. */
function noteButton(words, shown, title, go) {
    return go ? el("button", { class: "bare", type: "button", tabindex: -1, "aria-label": words, title: `${words}: ${title}`, onclick: event => {
        event.stopPropagation();
        go();
    } }, shown) : el("span", { title: words }, shown);
}

/* A pane: a list of lines with tools above it and a search in it. */
class Pane {
    constructor(label, tools) {
        this.label = label;
        this.list = new LineList(label, {
            make: index => this.makeRow(index),
            dress: (index, node) => this.dressRow(index, node),
            marks: () => this.linkMarks(),
            told: index => this.told(index),
            moved: index => this.moved(index),
            taken: index => this.linkAt(index) >= 0 ? togglePin(this.linkAt(index), this) : setPin(-1, this),
            hovered: (index, event) => this.hovered(index, event),
        });
        this.hits = [];
        this.hit = -1;
        this.query = "";
        this.tools = el("div", { class: "tools" }, tools);
        this.empty = el("p", { class: "nothing", hidden: true });
        this.list.node.append(this.makeSearch());
        this.heads = el("div", { class: "heads", "aria-hidden": "true", hidden: true });
        this.list.node.prepend(this.heads);
        this.node = el("div", { class: "pane" }, this.tools, this.list.node, this.empty);
        on("hot", () => this.list.dressAll());
        on("theme", () => this.list.drawOverview());
        this.list.box.addEventListener("focus", () => (page.lastPane = this));
    }

    /* What the line waits for, or else what waits for it: behind its text, leading there, as long as there is room. `goal(entry)`
       says where that is and takes one there. */
    waitNotes(profile, [waits, waited], key, goal, room) {
        const total = profile.metrics.find(metric => metric.id === "cycles")?.lines.total || 0, least = 0.04 * total;
        const note = (entry, back) => {
            const { name, title, go } = typeof entry.other === "string" ? { name: entry.other } : goal(entry);
            const short = `${back ? "awaited" : "waits"} ${percent(entry.cycles / total)}`, words = `${short} ${back ? "by" : "for"} ${name}`;
            return noteButton(words, fitText([words, short], room, WORD_WIDTH) || (back ? "←" : "→"), title, go);
        };
        const some = (map, back) => (total ? map.get(key) || [] : []).filter(entry => entry.cycles >= (typeof entry.other === "string" ? 2.5 : 1) * least).slice(0, 1).map(entry => note(entry, back));
        return [...some(waits, false), ...some(waited, true)].slice(0, 1); /* more would hide the line */
    }

    /* Notes never lie on the text: where there is no room for words an arrow stands in the gutter. */
    withNotes(node, notes) {
        const arrow = notes.find(note => /^[←→]$/.test(note.textContent)), sign = node.querySelector(".sign");
        if (arrow)
            sign.append(arrow);
        else if (notes.length)
            node.append(el("span", { class: "inlay" }, notes));
        return node;
    }

    /* Pixels that the gutter and a line's text leave of what is in sight. */
    roomBehind(index) {
        const columns = this.textAt(index).replace(/\t/g, "    ").length + String(this.list.count).length + (this.signs || 1) * 2;
        return this.list.box.clientWidth - HEAT_WIDTH * this.heats.length - CODE_ADVANCE * columns - NOTE_PADDING;
    }

    /* The same as words, of lines that wait for a hundredth of all cycles or are waited for as long. */
    waitWords(index, side) {
        const total = page.profiles[side].metrics.find(metric => metric.id === "cycles")?.lines.total || Infinity;
        return [false, true].flatMap(back => this.waitEntries(index, back).slice(0, 1).filter(entry => entry.cycles >= 0.01 * total).map(entry =>
            `${back ? "awaited" : "waits"} ${percent(entry.cycles / total)} ${back ? "by" : "for"} ${typeof entry.other === "string" ? entry.other : this.goalOf(entry).name}`)).join(" · ");
    }

    /* From a line to what it waits for, or back to what waits for it. */
    goToWait(back) {
        const entries = this.waitEntries(this.list.here, back), entry = entries.find(found => typeof found.other !== "string");
        if (!entry)
            return tell(entries.length ? `this line waits for ${entries[0].other}, no line of this kernel` : back ? "no line waits for this one" : "this line waits for no other one");
        this.goalOf(entry).go();
    }

    /* What the columns of figures are, above the lines. */
    nameHeats(before, metrics, names) {
        this.heads.hidden = !names.length;
        this.heads.replaceChildren(...(before ? [el("span", { class: "sign" })] : []), ...names.map((name, index) => el("span", { class: "heat", title: metrics[index].long }, name)));
    }

    /* A cell of a column of figures: a bar, of which waiting is hatched. */
    heatCell(heat, side) {
        const part = heat ? HEAT_WIDTH * clamp(heat.part, 0, 1) : 0, waits = part * (heat?.waits || 0);
        return el("span", { class: "heat", "data-side": side, vars: { "--works": `${(part - waits).toFixed(1)}px`, "--waits": `${waits.toFixed(1)}px` } }, heat ? heat.text : "");
    }

    /* Text of a row, its link: what the two panes differ in. */
    textAt() { return ""; }
    linkAt() { return -1; }

    hovered(index, event) {
        const link = index < 0 ? -1 : this.linkAt(index);
        setHot(link);
        const note = index >= 0 && event.target.closest?.(".gutter") ? this.note(index, event.target) : "";
        showTip(note, event.clientX, event.clientY);
        if (index >= 0 && link >= 0)
            tell(this.told(index));
    }

    moved(index) {
        const link = this.linkAt(index);
        setHot(link);
        if (link >= 0)
            emit("follow", { link, origin: this });
    }

    /* Where the line that is pointed to has code, for the strip. */
    linkMarks() {
        const link = pointed();
        return link < 0 ? [] : this.rowsOfLink(link).map(index => [index, page.hues.get(link)?.slice(4, -1) || "--quiet", 0.35, 0.65]);
    }

    rowsOfLink() { return []; }

    /* Brings rows of a link in sight, unless some are. */
    follow(link) {
        const rows = this.rowsOfLink(link), hottest = this.hottestOf(rows);
        if (rows.length && !(hottest === undefined ? rows : [hottest]).some(row => this.list.inSight(row)))
            this.list.scrollToRow(hottest ?? rows[0]);
    }

    /* Of rows the one where most clocks go by; undefined where nobody counted them. */
    hottestOf() { return undefined; }

    codeNode(index, text, kind, inside) {
        const node = el("span", { class: "text" });
        const found = this.query ? text.toLowerCase().indexOf(this.query) : -1;
        for (const [piece, style] of pieces(text, kind, inside))
            node.append(style ? el("span", { class: style }, piece) : piece);
        if (found >= 0)
            markText(node, found, this.query.length);
        return node;
    }

    dressRow(index, node) {
        const link = this.linkAt(index);
        node.classList.toggle("linked", link >= 0 && (link === page.hot || link === page.pin));
        node.classList.toggle("pinned", link >= 0 && link === page.pin);
        if (link < 0 || !page.hues.has(link))
            node.style.setProperty("--hue", node.classList.contains("linked") ? "var(--quiet)" : "transparent");
        node.classList.toggle("found", this.hits[this.hit] === index);
    }

    makeSearch() {
        this.input = el("input", { type: "search", "aria-label": `Search in ${this.label}`, placeholder: "search", spellcheck: "false" });
        this.found = el("span", { class: "quiet nowrap", "aria-live": "polite" });
        this.search = el("div", { class: "search", hidden: true }, this.input, this.found,
            el("button", { type: "button", "aria-label": "Previous match", onclick: () => this.step(-1) }, "↑"),
            el("button", { type: "button", "aria-label": "Next match", onclick: () => this.step(1) }, "↓"),
            el("button", { type: "button", "aria-label": "Close the search", onclick: () => this.closeSearch() }, "×"));
        this.input.addEventListener("input", () => this.lookFor(this.input.value));
        this.input.addEventListener("keydown", event => {
            if (event.key === "Enter")
                this.step(event.shiftKey ? -1 : 1);
            else if (event.key === "Escape")
                this.closeSearch();
            else
                return;
            event.preventDefault();
            event.stopPropagation();
        });
        return this.search;
    }

    openSearch() {
        this.search.hidden = false;
        this.input.focus();
        this.input.select();
    }

    closeSearch() {
        this.search.hidden = true;
        this.lookFor("");
        this.list.box.focus();
    }

    lookFor(text) {
        this.query = text.toLowerCase();
        this.hits = [];
        if (this.query)
            for (let index = 0; index < this.list.count; index++)
                if (this.textAt(index).toLowerCase().includes(this.query))
                    this.hits.push(index);
        const next = this.hits.findIndex(index => index >= this.list.here);
        this.hit = this.hits.length ? Math.max(0, next) : -1;
        this.list.redraw();
        this.showHit();
    }

    /* Where nothing is found here: other panes that have it. */
    elsewhere() {
        const has = pane => Array.from({ length: pane.list.count }, (_, index) => index).filter(index => pane.textAt(index).toLowerCase().includes(this.query)).length;
        return page.view.all().filter(pane => pane !== this).map(pane => [pane.label, has(pane)]).filter(([, times]) => times).map(([label, times]) => `, ${times} in ${label}`).join("");
    }

    step(by) {
        if (!this.hits.length)
            return;
        this.hit = (this.hit + by + this.hits.length) % this.hits.length;
        this.showHit();
    }

    showHit() {
        this.found.textContent = this.query ? `${this.hit + 1} of ${this.hits.length}${this.hits.length ? "" : this.elsewhere()}` : "";
        if (this.hit >= 0)
            this.list.go(this.hits[this.hit], false);
        this.list.dressAll();
    }
}

/* Puts a mark around the characters of a node's text from `start` on. */
function markText(node, start, length) {
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT), parts = [];
    for (let at = 0, text; (text = walker.nextNode()); at += text.length) {
        const from = Math.max(0, start - at), to = Math.min(text.length, start + length - at);
        if (from < to)
            parts.push([text, from, to]);
    }
    for (const [text, from, to] of parts) {
        const rest = text.splitText(from);
        rest.splitText(to - from);
        const mark = el("mark");
        rest.replaceWith(mark);
        mark.append(rest);
    }
}

class SourcePane extends Pane {
    constructor() {
        const picker = el("select", { class: "grow", "aria-label": "File of the source" }, page.files.map((file, index) => el("option", { value: index }, file.path)));
        const heats = el("span", { class: "nowrap" });
        super("Source", [el("h2", {}, "Source"), page.files.length > 1 ? picker : el("span", { class: "grow path quiet mono", title: page.files[0]?.path }, el("bdi", {}, page.files[0]?.path || "")), heats]);
        picker.addEventListener("change", () => this.show(Number(picker.value)));
        this.picker = picker;
        this.remarks = new Map();
        page.reports.forEach((report, side) => (report.remarks || []).forEach(remark => {
            const link = linkOf(side, remark.at);
            if (link >= 0 && !(this.remarks.get(link) || []).some(other => other.text === remark.text))
                this.remarks.set(link, [...(this.remarks.get(link) || []), remark]);
        }));
        this.makeHeats(heats);
        this.file = 0;
        this.show(0);
    }

    /* Buttons that switch columns of figures on and off. */
    makeHeats(place) {
        this.known = METRICS.filter(metric => page.profiles.some(profile => profile.metrics.some(other => other.id === metric.id)));
        this.buttons = this.known.map(metric => el("button", { type: "button", title: `${metric.long}: a column beside the code`, "aria-pressed": "false", onclick: () => {
            page.heat = page.heat.includes(metric.id) ? page.heat.filter(id => id !== metric.id) : [...page.heat, metric.id];
            emit("heat");
            keep();
        } }, metric.title));
        place.append(...this.buttons);
        on("heat", () => {
            this.known.forEach((metric, index) => this.buttons[index].setAttribute("aria-pressed", page.heat.includes(metric.id)));
            this.show(this.file);
        });
    }

    show(file) {
        this.file = file;
        this.picker.value = file;
        const shown = page.files[file];
        this.heats = page.profiles.flatMap((profile, side) => profile.metrics.filter(metric => page.heat.includes(metric.id)).map(metric => ({ metric, side, profile })));
        this.heats.sort((a, b) => METRICS.findIndex(metric => metric.id === a.metric.id) - METRICS.findIndex(metric => metric.id === b.metric.id) || a.side - b.side);
        this.nameHeats(true, this.heats.map(({ metric }) => metric), this.heats.map(({ metric, side }) => metric.title + (page.reports.length > 1 ? ` ${"AB"[side]}` : "")));
        this.list.box.style.setProperty("--digits", `${String(shown?.rows.length || 0).length}ch`);
        this.signs = shown?.differ ? 2 : 1;
        this.list.box.style.setProperty("--margin", `${70 + HEAT_WIDTH * this.heats.length}px`);
        this.list.marks = [...this.remarks].filter(([link]) => fileOfLink(link) === file).map(([link]) => [rowOfLink(link), "--warning", 0, 0.3]);
        this.list.set(shown?.rows.length || 0, shown?.columns || 0);
    }

    rowAtIndex(index) { return page.files[this.file]?.rows[index]; }
    textAt(index) { return this.rowAtIndex(index)?.text || ""; }
    linkAt(index) { return this.rowAtIndex(index) ? this.file * ROWS_A_FILE + index : -1; }
    rowsOfLink(link) { return fileOfLink(link) === this.file ? [rowOfLink(link)] : []; }

    follow(link) {
        if (fileOfLink(link) !== this.file)
            this.show(fileOfLink(link));
        super.follow(link);
    }

    makeRow(index) {
        const row = this.rowAtIndex(index), link = this.linkAt(index), file = page.files[this.file];
        const remarks = this.remarks.get(link) || [], worst = ["error", "warning", "remark", "note"].find(severity => remarks.some(remark => remark.severity === severity));
        const sign = el("span", { class: `sign ${worst ? `remark sev-${worst}` : ""}` }, worst ? { error: "✖", warning: "▲" }[worst] || "●" : "");
        const heats = this.heats.map(({ metric, side, profile }) => {
            return this.heatCell(heatOf(metric, metric.lines, profile.lines.get(link)), side);
        });
        const room = this.roomBehind(index), notes = !this.heats.length ? [] : page.profiles.flatMap((waiting, side) => {
            const found = this.waitNotes(waiting, [waiting.linkWaits, waiting.linkWaited], link, entry => this.goalOf(entry, side), room);
            return found.length && page.reports.length > 1 ? [el("span", { class: `side ${"ab"[side]}` }, "AB"[side]), ...found] : found;
        });
        const change = file.differ ? (row.lines[0] ? (row.lines[1] ? "" : "removed") : "added") : "";
        return this.withNotes(el("div", { class: `row ${change}`, vars: { "--hue": page.hues.get(link) || "transparent" } },
            el("span", { class: "gutter" }, sign, heats, file.differ && el("span", { class: "sign" }, { removed: "−", added: "+" }[change] || ""),
                el("span", { class: "no" }, row.lines[0] || row.lines[1]), el("span", { class: "stripe" })),
            this.codeNode(index, row.text, "source", row.inside)), notes);
    }

    waitEntries(index, back) { return page.profiles[page.side][back ? "linkWaited" : "linkWaits"].get(this.linkAt(index)) || []; }

    goalOf(entry, side = page.side) {
        return { name: lineText(entry.other, side), title: sourceText(entry.other).trim(), go: () => setPin(entry.other, "link") };
    }

    /* What is known of a line beside its text. */
    note(index) {
        const link = this.linkAt(index);
        const figures = page.profiles.map((profile, side) => profile.lines.has(link) ? (page.reports.length > 1 ? `${"AB"[side]}: ` : "") + figuresText(profile, "lines", profile.lines.get(link)) : "").filter(Boolean);
        const remarks = (this.remarks.get(link) || []).map(remark => `${remark.severity}: ${remark.text}${remark.help ? `\n  help: ${remark.help}` : ""}`);
        return [...figures, ...remarks].join("\n");
    }

    told(index) {
        const link = this.linkAt(index), here = page.view ? page.view.panes.map(pane => pane.rowsOfLink(link).length) : [];
        const note = this.note(index).replace(/\n\s*/g, " · ");
        const parts = [this.waitWords(index, page.side), `${here.map(lines => plural(lines, "line")).join(" and ")} of this stage`, note, page.pin === link && "pinned"];
        return `${lineText(link)}: ${parts.filter(Boolean).join(" · ")}`;
    }
}

/* The stage of one report. */
class StagePane extends Pane {
    constructor(side) {
        const title = el("span", { class: "grow quiet nowrap" });
        super(page.reports.length > 1 ? `Stage of ${"AB"[side]}` : "Stage", page.reports.length > 1 ? [el("span", { class: `side ${"ab"[side]}` }, "AB"[side]), title] : []);
        this.side = side;
        this.title = title;
        if (page.reports.length < 2)
            this.tools.remove();
        this.node.style.gridTemplateRows = page.reports.length < 2 ? "minmax(0, 1fr)" : "";
        this.rows = [];
    }

    /* Rows are {line: of the stage or -1, sign, text: of a line that is gone, gone: how many went before this one}. */
    show(stage, rows, why) {
        this.stage = stage;
        this.rows = rows;
        this.list.node.hidden = !stage;
        this.empty.hidden = Boolean(stage);
        this.empty.textContent = why;
        this.rowOf = new Map();
        rows.forEach((row, index) => {
            if (row.line >= 0)
                this.rowOf.set(row.line, index);
        });
        this.heats = stage?.kind === "ptx" ? page.profiles[this.side].metrics.filter(metric => page.heat.includes(metric.id) && metric.ptx.total > 0) : [];
        this.nameHeats(false, this.heats, this.heats.map(metric => metric.title));
        this.list.box.style.setProperty("--digits", `${String(stage?.lines.length || 0).length}ch`);
        this.list.box.style.setProperty("--margin", `${60 + HEAT_WIDTH * this.heats.length}px`);
        this.list.marks = rows.flatMap((row, index) => row.sign === "+" ? [[index, "--added", 0, 0.3]] : row.sign === "−" || row.gone ? [[index, "--removed", 0, 0.3]] : []);
        this.list.set(rows.length, stage?.columns || 0);
        if (this.query)
            this.lookFor(this.query);
    }

    textAt(index) {
        const row = this.rows[index];
        return row ? (row.line >= 0 ? this.stage.lines[row.line] : row.text || "") : "";
    }

    linkAt(index) {
        const row = this.rows[index];
        return row && row.line >= 0 ? this.stage.links[row.line] : -1;
    }

    rowsOfLink(link) {
        return this.stage ? (this.stage.found.get(link) || []).map(line => this.rowOf.get(line)).filter(row => row !== undefined) : [];
    }

    /* A line may have code of several roles: copies that a producer starts come before what waits for them. */
    hottestOf(rows) {
        let hottest, most = 0;
        if (this.stage?.kind === "ptx")
            for (const row of rows) {
                const record = page.profiles[this.side].ptx.get(this.rows[row].line);
                const clocks = record ? (record.cycles || 0) + (record.awaited_cycles || 0) : 0;
                if (clocks > most)
                    [hottest, most] = [row, clocks];
            }
        return hottest;
    }

    makeRow(index) {
        const row = this.rows[index], link = this.linkAt(index);
        const kind = row.line < 0 ? (row.text === undefined ? "filler" : "removed") : row.sign === "+" ? "added" : row.sign === "−" ? "removed-here" : "";
        const profile = page.profiles[this.side], heats = this.heats.map(metric => this.heatCell(heatOf(metric, metric.ptx, profile.ptx.get(row.line))));
        const room = this.roomBehind(index), notes = this.heats.length && row.line >= 0 ? this.waitNotes(profile, [profile.waits, profile.waited], row.line, entry => this.goalOf(entry), room) : [];
        return this.withNotes(el("div", { class: `row ${kind} ${row.gone ? "gone" : ""}`, vars: { "--hue": page.hues.get(link) || "transparent" } },
            el("span", { class: "gutter" }, heats, el("span", { class: "no" }, row.line >= 0 ? row.line + 1 : ""), el("span", { class: "sign" }, row.sign || ""), el("span", { class: "stripe" })),
            this.codeNode(index, this.textAt(index), this.stage.kind, false)), notes);
    }

    waitEntries(index, back) {
        return this.stage?.kind === "ptx" ? page.profiles[this.side][back ? "waited" : "waits"].get(this.rows[index]?.line) || [] : [];
    }

    goalOf(entry) {
        const link = this.stage.links[entry.other] ?? -1, place = link < 0 ? "" : `, ${lineText(link, this.side)}`;
        return { name: `PTX ${entry.other + 1}${place}`, title: this.stage.lines[entry.other]?.trim(), go: () => page.view.showPtx(this.side, entry.other) };
    }

    note(index) {
        const row = this.rows[index], record = page.profiles[this.side].ptx.get(row.line);
        return [this.stage.kind === "ptx" && record ? figuresText(page.profiles[this.side], "ptx", record) : "",
            row.gone ? `${plural(row.gone, "line")} before this one ${row.gone === 1 ? "is" : "are"} gone` : ""].filter(Boolean).join("\n");
    }

    told(index) {
        const link = this.linkAt(index), row = this.rows[index];
        const note = this.note(index).replace(/\n/g, " · ");
        const name = this.stage?.kind === "ptx" ? "PTX line" : this.stage ? `${this.stage.id || "stage"} line` : this.label.toLowerCase();
        const parts = [link >= 0 ? `of ${lineText(link)}` : "of no line of the source", row?.line >= 0 && this.waitWords(index, this.side), row?.sign === "+" && "changed", note];
        return `${name} ${row?.line >= 0 ? row.line + 1 : "gone"}: ${parts.filter(Boolean).join(" · ")}`;
    }
}
