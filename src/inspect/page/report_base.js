/* What all parts of the page use: making elements, figures as text, events, and the state that the fragment of the URL
   keeps. Texts of the report reach the page as text nodes and attributes alone, never as markup. */

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
        if (value === undefined || value === null || (value === false && !name.startsWith("aria-")))
            continue;
        if (name.startsWith("on"))
            node.addEventListener(name.slice(2), value);
        else if (name === "vars")
            for (const [variable, text] of Object.entries(value))
                node.style.setProperty(variable, text);
        else
            node.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : value);
    }
    for (const child of children.flat(Infinity))
        if (child !== null && child !== undefined && child !== false)
            node.append(child);
    return node;
}

/* An element with attributes ("onclick" adds a listener, "vars" sets CSS variables) and children. */
function el(tag, attributes = {}, ...children) {
    return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
    return fill(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

function byId(id) {
    return document.getElementById(id);
}

function clamp(value, low, high) {
    return Math.max(low, Math.min(high, value));
}

/* Figures as text: 1234567 is 1 234 567, with thin spaces; 1.4 M where there is little room. */
function count(value) {
    if (typeof value !== "number")
        return value === null || value === undefined ? "" : String(value);
    if (!Number.isInteger(value))
        return Math.abs(value) >= 100 ? count(Math.round(value)) : String(Number(value.toPrecision(3)));
    return String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/* Microseconds, all to the same digits. */
function micros(value) {
    return value >= 1000 ? count(Math.round(value)) : value.toFixed(2);
}

function brief(value) {
    const steps = [[1e12, "T"], [1e9, "G"], [1e6, "M"]];
    for (const [size, letter] of steps)
        if (Math.abs(value) >= size)
            return (value / size).toPrecision(3).replace(/\.?0+$/, match => match.startsWith(".") ? "" : match) + letter;
    return count(value);
}

function bytes(value) {
    if (value < 1024)
        return `${count(value)} B`;
    const [size, unit] = value < 1 << 20 ? [1024, "KiB"] : value < 1 << 30 ? [1 << 20, "MiB"] : [1 << 30, "GiB"];
    return `${Number((value / size).toFixed(value % size ? 1 : 0))} ${unit}`;
}

function plural(number, one, many = `${one}s`) {
    return `${count(number)} ${number === 1 ? one : many}`;
}

/* Who wants to know that something changed: "hot" (the link below the cursor), "pin", "stage", "heat", "side", "theme", "ptx" ({side, line}: an instruction
   that something led to). */
const listeners = new Map();

function on(event, action) {
    listeners.set(event, [...(listeners.get(event) || []), action]);
}

function emit(event, detail) {
    for (const action of listeners.get(event) || [])
        action(detail);
}

/* The colour that a variable of the style has now, light or dark, for canvases. Asking the style costs a layout, so it is
   asked once. */
const knownColors = new Map();
on("theme", () => knownColors.clear());

function colorOf(variable) {
    if (!knownColors.has(variable)) {
        const probe = byId("tip");
        probe.style.color = `var(${variable})`;
        knownColors.set(variable, getComputedStyle(probe).color);
        probe.style.color = "";
    }
    return knownColors.get(variable);
}

/* The state. `hot` and `pin` are links: numbers that stand for a line of the source, -1 for none. `side` says which of two
   reports the panels show. */
const page = { reports: [], sides: [], hot: -1, pin: -1, stage: 0, heat: [], panel: "", dock: "open", layout: 0, side: 0, changes: "marked", theme: "auto", why: false };

/* The keys of the fragment, each with what it says of the state. `keep` is called after each change of the state; the
   fragment is written when nothing has changed for a moment, since browsers limit how often that may happen. */
let keepTimer = 0;
const kept = new Map();

function keeps(key, read, restore) {
    kept.set(key, { read, restore });
}

function keep() {
    clearTimeout(keepTimer);
    keepTimer = setTimeout(keepNow, 120);
}

function keepNow() {
    clearTimeout(keepTimer);
    const words = new URLSearchParams();
    for (const [key, { read }] of kept) {
        const value = read();
        if (value !== "" && value !== null && value !== undefined)
            words.set(key, value);
    }
    const fragment = "#" + words.toString().replace(/%3A/g, ":").replace(/%2C/g, ",");
    if (fragment !== location.hash)
        history.replaceState(null, "", fragment);
}

function restore(fragment) {
    const words = new URLSearchParams(fragment.slice(1));
    for (const [key, { restore: action }] of kept)
        action(words.get(key));
}

/* One line at the bottom says what the cursor is on; screen readers read it out. */
function tell(text) {
    if (byId("told").textContent !== text)
        byId("told").textContent = text;
}

/* A note beside the mouse. */
function showTip(text, x, y) {
    const tip = byId("tip");
    tip.hidden = !text;
    if (!text)
        return;
    tip.textContent = text;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${clamp(x + 14, 4, innerWidth - box.width - 4)}px`;
    tip.style.top = `${y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18}px`;
}

function hideTip() {
    byId("tip").hidden = true;
}

/* Says `text()` of what the node is, while the mouse or the keyboard is on it. */
function explains(node, text, action) {
    node.addEventListener("mousemove", event => showTip(text(), event.clientX, event.clientY));
    node.addEventListener("mouseleave", hideTip);
    node.addEventListener("focus", () => tell(text().replace(/\n/g, "; ")));
    if (action) {
        node.addEventListener("click", action);
        node.addEventListener("keydown", event => {
            if (event.key === "Enter" || event.key === " ") {
                event.preventDefault();
                action(event);
            }
        });
    }
    return node;
}

/* Makes a separator move: `change(pixels)` gets by how far, from the mouse and from arrow keys. */
function movable(node, vertical, change, done) {
    node.addEventListener("pointerdown", event => {
        node.setPointerCapture(event.pointerId);
        let last = vertical ? event.clientY : event.clientX;
        const move = moved => {
            const now = vertical ? moved.clientY : moved.clientX;
            change(now - last);
            last = now;
        };
        node.addEventListener("pointermove", move);
        node.addEventListener("lostpointercapture", () => {
            node.removeEventListener("pointermove", move);
            done();
        }, { once: true });
    });
    node.addEventListener("keydown", event => {
        const step = { ArrowUp: -20, ArrowLeft: -20, ArrowDown: 20, ArrowRight: 20 }[event.key];
        if (step) {
            event.preventDefault();
            event.stopPropagation();
            change(step);
            done();
        }
    });
}

/* A row of choices, of which arrow keys and clicks take one: tabs, lists. `nodes` are the choices in order. */
function roving(nodes, take) {
    nodes.forEach((node, index) => {
        node.addEventListener("click", () => take(index));
        node.addEventListener("keydown", event => {
            const there = nodes.filter(other => !other.hidden), to = stepOf(event.key, there.indexOf(node), there.length);
            if (to === undefined)
                return;
            event.preventDefault();
            event.stopPropagation();
            there[to].focus();
            take(nodes.indexOf(there[to]));
        });
    });
}

/* Where a key leads to from the choice `at` of `count`; undefined: it is no key of lists. */
function stepOf(key, at, count) {
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: count - 1 }[key];
    return to === undefined ? undefined : (to + count) % count;
}

/* What of a picture can be used is one stop of the Tab key, in which arrow keys move. */
function oneStop(node, nodes) {
    const makeStop = at => nodes.forEach((other, index) => other.setAttribute("tabindex", index === at ? 0 : -1));
    makeStop(0);
    nodes.forEach((other, index) => other.addEventListener("focus", () => makeStop(index)));
    node.addEventListener("keydown", event => {
        const at = nodes.indexOf(document.activeElement), to = at < 0 ? undefined : stepOf(event.key, at, nodes.length);
        if (to === undefined)
            return;
        event.preventDefault();
        event.stopPropagation();
        nodes[to].focus();
    });
    return node;
}
