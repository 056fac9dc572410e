/* Which stage is shown, what of it is new, and how the panes follow each other. */

class Stages {
    constructor() {
        this.panes = page.reports.map((_, side) => new StagePane(side));
        this.source = new SourcePane();
        this.picker = el("select", { class: "stage", "aria-label": "Stage", onchange: () => this.choose(Number(this.picker.value)) }, this.groups());
        this.summary = el("span", { class: "quiet nowrap" });
        this.changes = el("select", { "aria-label": "Changes since the previous stage", onchange: () => this.setChanges(this.changes.value) },
            el("option", { value: "off" }, "changes hidden"), el("option", { value: "marked" }, "changes marked"), el("option", { value: "removed" }, "with removed lines"));
        const button = (label, text, title, action) => el("button", { type: "button", "aria-label": label, title, onclick: action }, text);
        const tools = el("div", { class: "tools" }, el("h2", {}, "Stage"),
            button("Previous stage", "◀", "Previous stage  [", () => this.step(-1)), button("Next stage", "▶", "Next stage  ]", () => this.step(1)),
            this.picker, this.about = el("span", { class: "grow quiet about" }), this.summary, page.reports.length < 2 && this.changes,
            button("Previous change", "↑±", "Previous change  C", () => this.change(-1)), button("Next change", "↓±", "Next change  c", () => this.change(1)));
        this.node = el("div", { class: `stages ${this.panes.length > 1 ? "two" : ""}` }, tools, el("div", { class: "panes" }, this.panes.map(pane => pane.node)));
        if (this.panes.length > 1)
            this.scrollTogether();
        on("follow", ({ link, origin }) => this.all().filter(pane => pane !== origin && !(origin instanceof StagePane && pane instanceof StagePane)).forEach(pane => pane.follow(link)));
        on("pin", origin => {
            if (page.pin >= 0)
                this.all().filter(pane => pane !== origin).forEach(pane => pane.follow(page.pin));
            if (page.pin >= 0 && (origin === "link" || origin === "picture")) {
                this.source.list.go(rowOfLink(page.pin), true);
                this.source.list.say();
                if (origin === "link")
                    openCode();
            }
        });
        on("heat", () => this.show());
    }

    all() { return [this.source, ...this.panes]; }

    groups() {
        const groups = [];
        page.steps.forEach((step, index) => {
            if (groups[groups.length - 1]?.kind !== step.kind)
                groups.push({ kind: step.kind, options: [] });
            const only = page.reports.length > 1 && step.of.includes(-1) ? ` (${step.of[0] < 0 ? "B" : "A"} only)` : "";
            const number = /^\d+/.exec(step.id)?.[0] || "";
            groups[groups.length - 1].options.push(el("option", { value: index, title: step.summary }, `${number} ${step.title}`.trim() + only));
        });
        return groups.map(({ kind, options }) => el("optgroup", { label: KINDS[kind] || kind }, options));
    }

    setChanges(how) {
        page.changes = how;
        this.changes.value = how;
        this.show();
        keep();
    }

    choose(index) {
        if (!page.steps.length)
            return this.panes.forEach(pane => pane.show(null, [], "The report has no stages."));
        page.stage = clamp(index, 0, page.steps.length - 1);
        this.picker.value = page.stage;
        this.show();
        this.all().forEach(pane => page.pin >= 0 && pane !== this.source && pane.follow(page.pin));
        emit("stage");
        keep();
        const { title, summary } = page.steps[page.stage];
        tell(`stage ${title}${summary ? `: ${summary}` : ""}; ${this.summary.textContent || "no previous stage to compare with"}`);
    }

    /* Shows a line of a report's PTX. */
    showPtx(side, line) {
        const ptx = page.steps.findIndex(step => step.kind === "ptx" && step.of[side] >= 0);
        if (ptx < 0)
            return;
        if (page.steps[page.stage] !== page.steps[ptx])
            this.choose(ptx);
        emit("ptx", { side, line });
        openCode();
        const pane = this.panes[side], row = pane.rowOf.get(line);
        if (row !== undefined)
            pane.list.go(row, false);
    }

    step(by) { this.choose(page.stage + by); }

    show() {
        const step = page.steps[page.stage];
        if (!step)
            return;
        this.picker.title = `${step.summary || step.title}\nNumbers are those of the passes; a pass that changed nothing has no stage.`;
        this.about.textContent = this.about.title = step.summary || "";
        if (this.panes.length > 1)
            this.showTwo(step);
        else
            this.showOne(step);
    }

    /* One report: what is new against the stage before, if that is text of the same kind. */
    showOne(step) {
        const stage = stageOf(0, step.of[0]);
        const before = page.steps.slice(0, page.stage).reverse().find(other => other.kind === step.kind);
        const old = before && page.changes !== "off" ? stageOf(0, before.of[0]) : null;
        if (!old) {
            this.summary.textContent = "";
            this.panes[0].show(stage, stage.lines.map((_, line) => ({ line })), "");
            return;
        }
        const rows = [];
        let added = 0, removed = 0, gone = 0;
        for (const [i, j] of this.aligned(old, stage, false)) {
            if (j < 0) {
                removed++;
                gone++;
                if (page.changes === "removed")
                    rows.push({ line: -1, sign: "−", text: old.lines[i] });
                continue;
            }
            added += i < 0;
            rows.push({ line: j, sign: i < 0 ? "+" : "", gone: page.changes === "removed" ? 0 : gone });
            gone = 0;
        }
        this.summary.textContent = `+${added} −${removed}`;
        this.summary.title = `lines added and removed since ${before.title}; numbers of values are not compared`;
        this.panes[0].show(stage, rows, "");
    }

    showTwo(step) {
        const [a, b] = step.of.map((index, side) => stageOf(side, index));
        const why = "This compilation does not have the stage: the pass did not run, or changed nothing.";
        if (a && b) {
            const rows = this.aligned(a, b, true), of = (which, sign) => rows.map(row => ({ line: row[which], sign: row[2] || row[which] < 0 ? "" : sign }));
            const differ = rows.filter(row => !row[2]).length;
            this.summary.textContent = differ ? `${plural(differ, "line")} ${differ === 1 ? "differs" : "differ"}` : "the same";
            this.panes[0].show(a, of(0, "−"), "");
            this.panes[1].show(b, of(1, "+"), "");
        } else {
            this.summary.textContent = "";
            [a, b].forEach((stage, side) => this.panes[side].show(stage, stage ? stage.lines.map((_, line) => ({ line })) : [], why));
        }
        this.panes.forEach((pane, side) => (pane.title.textContent = `${page.reports[side].kernel} ${page.reports[side].target}` + (pane.stage ? `, ${plural(pane.stage.lines.length, "line")}` : "")));
    }

    aligned(before, after, zipped) {
        const [a, b] = [before, after].map(stage => (stage.plain ||= stage.lines.map(line => comparable(line, stage.kind))));
        return alignedRows(a, b, samePairs(a, b), zipped);
    }

    /* To the next block of changed lines. */
    change(by) {
        const pane = this.panes.includes(page.lastPane) ? page.lastPane : this.panes[this.panes.length - 1];
        const changed = index => Boolean(pane.rows[index]?.sign || pane.rows[index]?.gone || (pane.rows[index]?.line < 0));
        let index = pane.list.here;
        while (changed(index))
            index += by;
        while (index >= 0 && index < pane.rows.length && !changed(index))
            index += by;
        if (index < 0 || index >= pane.rows.length)
            return tell(`no ${by > 0 ? "later" : "earlier"} change`);
        while (by < 0 && changed(index - 1))
            index--;
        pane.list.go(index, false);
    }

    /* Two stages of aligned rows scroll as one. */
    scrollTogether() {
        const boxes = this.panes.map(pane => pane.list.box);
        boxes.forEach((box, side) => box.addEventListener("scroll", () => {
            const other = boxes[1 - side];
            if (this.panes[0].rows.length === this.panes[1].rows.length && Math.abs(other.scrollTop - box.scrollTop) > 1)
                other.scrollTop = box.scrollTop;
        }));
    }
}
