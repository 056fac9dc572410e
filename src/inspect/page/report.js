/* The page of `tilec explain`: reads the report, makes its parts, and listens to the keyboard. The files report*.js are one
   script, in any order; nothing runs before the document is read. */

function readReports() {
    const read = JSON.parse(byId("report").textContent);
    const reports = (Array.isArray(read) ? read : [read]).slice(0, 2);
    if (!reports.length || reports.some(report => !report || typeof report !== "object"))
        throw new Error("it holds no report");
    if (reports.some(report => report.version !== 1))
        throw new Error(`it has the form ${reports.map(report => report.version).join(", ")}, and this page reads form 1`);
    return reports;
}

function start() {
    try {
        page.reports = readReports();
    } catch (error) {
        byId("main").replaceChildren(el("p", { class: "nothing", role: "alert" }, `This page's report cannot be read: ${error.message}`));
        return;
    }
    page.files = makeFiles(page.reports);
    page.profiles = page.reports.map((_, side) => makeProfile(side));
    page.steps = makeSteps(page.reports);
    makeHues();
    makeHead();
    makeCode();
    makeDock();
    keepState();
    document.addEventListener("keydown", pressed);
    addEventListener("hashchange", event => restore(new URL(event.newURL).hash));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => emit("theme"));
    restore(location.hash);
    showBeginning();
    document.documentElement.dataset.ready = "";
}

function costliestLines() {
    const cost = record => record.cycles || record.warps || 0;
    return page.profiles.flatMap(profile => [...profile.lines].sort(([, a], [, b]) => cost(b) - cost(a)).slice(0, 1).map(([link]) => link));
}

/* Where the kernel itself begins: helpers may stand above it. */
function kernelLines() {
    return page.reports.flatMap((report, side) => {
        const stage = (report.stages || []).find(each => each.kind === "tir"), line = (stage?.lines || []).findIndex(text => /^func @/.test(text));
        return line < 0 ? [] : [linkOf(side, stage.at?.[line])];
    });
}

/* Without a pinned line the source begins at the costliest finding or line, else where the kernel does, or where code comes from first. */
function showBeginning() {
    const link = [...page.reports.flatMap((report, side) => (report.findings || []).map(finding => linkOf(side, finding.at))), ...costliestLines(), ...kernelLines(), ...page.hues.keys()].find(candidate => candidate >= 0);
    if (page.pin < 0 && link !== undefined) {
        page.view.all().forEach(pane => pane.follow(link));
        showKernel(page.view.source.list, rowOfLink(link));
    }
}

/* As much of the kernel as there is room for, with that row: what stands above it is imports and helpers. */
function showKernel(list, row) {
    const first = kernelLines()[0] ?? -1;
    if (first >= 0 && fileOfLink(first) === page.view.source.file && rowOfLink(first) < row)
        list.box.scrollTop = Math.max(0, rowOfLink(first) - 1) * ROW;
    list.go(row, true);
}

function makeCode() {
    const code = byId("code"), view = page.view = new Stages();
    const divide = el("div", { class: "divide", role: "separator", "aria-orientation": "vertical", "aria-label": "Width of the source", tabindex: 0 });
    code.classList.toggle("two", page.reports.length > 1);
    code.append(view.source.node, divide, view.node);
    movable(divide, false, by => {
        const left = clamp(view.source.node.clientWidth + by, 120, code.clientWidth - 180);
        code.style.setProperty("--left", `${left}px`);
        code.style.setProperty("--right", "1fr");
    }, () => view.all().forEach(pane => pane.list.later()));
    page.lastPane = view.source;
}

/* The stage that is shown first: the last before LLVM's text, which is the program as the compiler decided it. */
function firstStage() {
    const last = page.steps.map(step => step.kind).lastIndexOf("tir");
    return Math.max(0, last >= 0 ? last : page.steps.length - 1);
}

/* The first layout of a tile with two dimensions, of the stage that is shown first if it has one. */
function firstLayout() {
    const layouts = page.reports[page.side].layouts || [], shown = page.steps[firstStage()]?.id;
    const isTile = layout => (layout.shape || []).length >= 2 && (layout.lane || []).length > 0, found = layouts.findIndex(layout => isTile(layout) && layout.stage === shown);
    return Math.max(0, found >= 0 ? found : layouts.findIndex(isTile));
}

/* Columns of figures that say something: by cause where some is waited for, ratios where they are not 1. */
function usualHeat() {
    const telling = metric => page.profiles.some(profile => profile.metrics.some(other => other.id === metric && other.lines.most > 1.05));
    const waits = page.profiles.some(profile => [...profile.linkWaits.values()].flat().some(wait => wait.cycles >= 0.02 * (profile.metrics.find(metric => metric.id === "cycles")?.lines.total || Infinity)));
    return page.reports.length > 1 ? ["cycles"] : ["cycles", ...(waits ? ["caused"] : []), ...["sectors", "wavefronts"].filter(telling)];
}

/* What the fragment of the URL keeps. */
function keepState() {
    const nameOf = index => page.steps[index]?.id || "";
    keeps("stage", () => nameOf(page.stage), text => {
        const index = page.steps.findIndex(step => step.id === text);
        page.view.choose(index >= 0 ? index : firstStage());
    });
    keeps("changes", () => (page.changes === "marked" ? "" : page.changes), text => page.view.setChanges(["off", "removed"].includes(text) ? text : "marked"));
    keeps("heat", () => page.heat.join(","), text => {
        const known = page.view.source.known.map(metric => metric.id), usual = usualHeat().filter(id => known.includes(id));
        page.heat = text === null ? (usual.length ? usual : known.slice(0, 1)) : text.split(",").filter(id => known.includes(id));
        emit("heat");
    });
    keeps("why", () => (page.why ? "on" : ""), text => setWhy(text === "on"));
    keeps("report", () => (page.side ? "B" : ""), text => (page.side = text === "B" && page.reports.length > 1 ? 1 : 0));
    keeps("layout", () => (page.layout === firstLayout() ? "" : page.layout), text => (page.layout = text === null ? firstLayout() : Number(text)));
    keeps("panel", () => page.panel, text => {
        page.panel = text || page.panel;
        setSide(page.side);
    });
    keeps("dock", () => (page.dock === "open" ? "" : page.dock), text => setDock(["closed", "full"].includes(text) ? text : "open"));
    keeps("line", () => (page.pin < 0 ? "" : `${fileOfLink(page.pin)}:${rowOfLink(page.pin) + 1}`), text => {
        const [file, row] = (text || "").split(":").map(Number);
        setPin(page.files[file]?.rows[row - 1] ? file * ROWS_A_FILE + row - 1 : -1, "link");
    });
    keeps("theme", () => (page.theme === "auto" ? "" : page.theme), text => setTheme(["light", "dark"].includes(text) ? text : "auto"));
}

/* Keys that work everywhere but where one writes. */
function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input, select, textarea") && event.key !== "Escape")
        return;
    const view = page.view, pane = page.lastPane, shown = PANELS.filter(panel => !panel.why(page.reports[page.side]));
    const actions = {
        "?": showHelp, "[": () => view.step(-1), "]": () => view.step(1), c: () => view.change(1), C: () => view.change(-1), "/": () => pane.openSearch(), n: () => pane.step(1), N: () => pane.step(-1),
        x: () => view.setChanges({ off: "marked", marked: "removed", removed: "off" }[page.changes]), s: () => view.source.list.box.focus(), o: () => jumpAcross(pane), t: nextTheme, r: otherSide,
        f: () => setDock(page.dock === "full" ? "open" : "full"), 0: () => setDock(page.dock === "closed" ? "open" : "closed"), Escape: escape, h: toggleHeat, u: () => pane.goToWait(false), U: () => pane.goToWait(true), w: () => setWhy(!page.why),
    };
    const digit = Number(event.key);
    if (digit >= 1 && digit <= shown.length) {
        showPanel(shown[digit - 1].id);
        byId(`tab-${shown[digit - 1].id}`).focus();
    } else if (digit >= 1) {
        tell(shown.length ? `there is no panel ${digit}: ${plural(shown.length, "panel")}, in the order of the tabs` : "there are no panels");
    } else if (actions[event.key]) {
        if (byId("help")?.open && event.key !== "?")
            return;
        actions[event.key]();
    } else {
        return;
    }
    event.preventDefault();
}

function otherSide() {
    if (page.reports.length < 2)
        return tell("there is no other report on this page");
    setSide(page.reports.length - 1 - page.side);
}

/* Back by one step: a pinned line, then panels over the whole page. */
function escape() {
    hideTip();
    if (page.pin < 0 && page.dock === "full")
        setDock("open");
    if (page.hot >= 0 || page.pin >= 0) {
        page.hot = -1;
        setPin(-1, "key");
    }
}

/* From a line to its code in the other pane, and the focus with it. */
function jumpAcross(pane) {
    const view = page.view, link = pane.linkAt(pane.list.here), to = pane === view.source ? view.panes[Math.min(page.side, view.panes.length - 1)] : view.source;
    if (link < 0)
        return tell("no line of the source belongs to this line");
    to.follow(link);
    const rows = to.rowsOfLink(link);
    if (!rows.length)
        return tell(`${lineText(link)} has no code in this stage`);
    openCode();
    to.list.box.focus();
    to.list.go(rows[0], false);
}

function toggleHeat() {
    const known = page.view.source.known.map(metric => metric.id);
    if (!known.length)
        return tell("no figures: nothing was run");
    page.heat = page.heat.length ? [] : known;
    emit("heat");
    keep();
}

document.addEventListener("DOMContentLoaded", start);
