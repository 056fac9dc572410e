/* The layouts panel: a tile drawn as cells, each coloured by who holds it. */

const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
const CATEGORIES = ["#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#b3b3b3"];
const ZOOMS = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 23, 26, 30, 34, 44, 60];

function rampColor(part) {
    const at = clamp(part, 0, 1) * (VIRIDIS.length - 1), low = Math.min(VIRIDIS.length - 2, Math.floor(at)), share = at - low;
    const [a, b] = [VIRIDIS[low], VIRIDIS[low + 1]].map(color => [1, 3, 5].map(from => parseInt(color.slice(from, from + 2), 16)));
    return `rgb(${a.map((value, index) => Math.round(value + (b[index] - value) * share)).join(",")})`;
}

/* Black or white, whichever can be read on the colour. */
function inkOn(color) {
    const parts = color.startsWith("#") ? [1, 3, 5].map(at => parseInt(color.slice(at, at + 2), 16)) : color.match(/\d+/g).map(Number);
    const [r, g, b] = parts.map(value => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#000" : "#fff";
}

class LayoutView {
    constructor(body, report, side) {
        this.side = side;
        this.entries = report.layouts;
        this.by = "lane";
        this.cell = 0;
        this.slice = [];
        this.place = el("span", { class: "legend grow" });
        this.choices = el("span", { class: "nowrap", role: "group", "aria-label": "Colours by" });
        this.slices = el("span", { class: "nowrap" });
        this.canvas = el("canvas", { tabindex: 0, role: "application", "aria-roledescription": "drawing of a layout", "aria-describedby": "layout-readout" });
        this.room = el("div");
        this.sheet = el("div", { class: "sheet" }, this.canvas, this.room);
        this.readout = el("p", { class: "readout", id: "layout-readout", role: "status", "aria-live": "polite" });
        this.notes = el("div");
        this.finder = this.makeFinder();
        const zoom = (by, text, name) => el("button", { type: "button", "aria-label": name, title: by > 0 ? "Larger  +" : "Smaller  −", onclick: () => this.zoomBy(by) }, text);
        const tools = el("div", { class: "tools" }, this.choices, this.slices, this.place, zoom(-1, "−", "Smaller"), zoom(1, "+", "Larger"), el("button", { type: "button", onclick: () => this.fit() }, "fit"));
        this.list = this.makeList();
        body.classList.add("flow");
        body.append(el("div", { class: "column", vars: { flex: "0 0 230px", padding: "4px 0" } }, this.list),
            el("div", { class: "drawn" }, tools, this.sheet),
            el("div", { class: "column", tabindex: 0, role: "region", "aria-label": "About the layout", vars: { flex: "0 0 290px" } }, el("h3", {}, "Who holds it"), this.readout, this.finder, this.notes));
        this.listen();
        this.choose(clamp(page.layout, 0, this.entries.length - 1));
    }

    makeList() {
        const choices = this.entries.map((entry, index) => el("div", { role: "option", tabindex: -1, "data-index": index, title: `${entry.name} ${(entry.shape || []).join("x")} ${entry.type || ""}: ${(entry.values || []).join(", ")}` },
            el("span", { class: "mono" }, `${entry.name} ${(entry.shape || []).join("×")}${entry.type ? `×${entry.type}` : ""} `), el("span", { class: "quiet mono" }, (entry.values || []).slice(0, 3).join(" "))));
        this.options = choices;
        roving(choices, index => this.choose(index));
        const node = el("div", { class: "pick", role: "listbox", "aria-label": "Layouts" });
        let stage = null;
        this.entries.forEach((entry, index) => {
            if (entry.stage !== stage && entry.stage)
                node.append(el("div", { class: "group", role: "presentation" }, entry.stage));
            stage = entry.stage;
            node.append(choices[index]);
        });
        return node;
    }

    /* From coordinates to the element: the way of the bases. */
    makeFinder() {
        this.inputs = [["warp", 2], ["lane", 1], ["register", 0], ["block", 3]].map(([name, part]) => ({ name, part, node: el("input", { type: "number", min: 0, value: 0, "aria-label": `${name} to find`, vars: { width: "6ch" }, oninput: () => this.find() }) }));
        return el("p", { class: "legend" }, this.inputs.map(input => (input.label = el("label", {}, input.word = el("span", {}, input.name), input.node))));
    }

    find() {
        const values = [0, 0, 0, 0];
        for (const { part, node } of this.inputs)
            values[part] = clamp(Number(node.value) || 0, 0, (1 << this.layout.bits[part]) - 1);
        this.goTo(applyLayout(this.layout, pack(this.layout, ...values)));
    }

    choose(index) {
        const entry = this.entries[index], layout = makeLayout(entry);
        page.layout = index;
        this.entry = entry;
        this.layout = layout;
        this.options.forEach((option, at) => {
            option.setAttribute("aria-selected", at === index);
            option.tabIndex = at === index ? 0 : -1;
        });
        this.options[index].scrollIntoView({ block: "nearest" });
        this.held = layout.bases.length <= 22 && layout.out <= 22 ? ownersOf(layout) : null;
        this.bytes = elementBytes(entry);
        this.makeAxes();
        this.makeChoices();
        this.inputs.forEach(({ part, name, label, word, node }) => {
            label.hidden = layout.bits[part] === 0;
            word.textContent = layout.shared && part === 0 ? "offset" : name;
            node.max = (1 << layout.bits[part]) - 1;
        });
        this.cursor = 0;
        this.marked = -1;
        this.canvas.setAttribute("aria-label", `${entry.name}, ${layout.shape.join(" by ")}: arrow keys move from element to element`);
        this.describe();
        this.fit();
        this.say(0);
        keep();
    }

    /* The last two dimensions are rows and columns; of those before one slice is shown; a vector wraps. */
    makeAxes() {
        const shape = this.layout.shape, rank = shape.length;
        this.wrap = rank === 1 ? Math.min(shape[0], 64) : 0;
        this.columns = rank === 1 ? this.wrap : shape[rank - 1];
        this.rows = rank === 1 ? shape[0] / this.wrap : shape[rank - 2];
        this.slice = shape.slice(0, Math.max(0, rank - 2)).map(() => 0);
        this.slices.replaceChildren(...this.slice.map((_, dim) => el("label", {}, `dim ${dim}`, el("input", { type: "number", min: 0, max: shape[dim] - 1, value: 0, vars: { width: "6ch" }, oninput: event => {
            this.slice[dim] = clamp(Number(event.target.value) || 0, 0, shape[dim] - 1);
            this.draw();
        } }))));
    }

    makeChoices() {
        const choices = this.layout.shared ? [["bank", "bank"], ["offset", "offset"]] : [["lane", "lane"], ["warp", "warp"], ["reg", "register"], ...(this.layout.bits[3] ? [["block", "block"]] : [])];
        if (!choices.some(([id]) => id === this.by))
            this.by = choices[0][0];
        this.choices.replaceChildren(...choices.map(([id, title]) => el("button", { type: "button", "aria-pressed": id === this.by, "aria-label": `Colours by ${title}`, onclick: () => {
            this.by = id;
            this.makeChoices();
            this.choices.querySelector("[aria-pressed=true]").focus();
            this.draw();
        } }, title)));
        this.makeLegend();
    }

    /* Colours reach as far as what is drawn: of elements held several times only the lowest holder is. */
    makeLegend() {
        const most = this.most = this.held ? this.held.owner.reduce((most, packed) => Math.max(most, packed < 0 ? 0 : this.valueOf(packed)), 0) : 0;
        if (this.by === "warp" || this.by === "block")
            this.place.replaceChildren(...Array.from({ length: Math.min(most + 1, 16) }, (_, value) => el("span", { class: "nowrap" }, el("span", { class: "swatch", vars: { background: this.colorOf(value) } }), String(value))));
        else
            this.place.replaceChildren("0", el("span", { class: "ramp", vars: { background: `linear-gradient(to right, ${VIRIDIS.join(", ")})` } }), String(most));
    }

    colorOf(value) {
        if (this.by === "warp" || this.by === "block")
            return CATEGORIES[value % CATEGORIES.length];
        return rampColor(this.most ? value / this.most : 0.5);
    }

    valueOf(packed) {
        if (this.by === "offset")
            return packed;
        if (this.by === "bank")
            return Math.floor(packed * this.bytes / WORD) % BANKS;
        return unpack(this.layout, packed)[{ reg: 0, lane: 1, warp: 2, block: 3 }[this.by]];
    }

    indexAt(row, column) {
        return this.slice.reduce((index, at, dim) => index * this.layout.shape[dim] + at, 0) * this.rows * this.columns + row * this.columns + column;
    }

    coordinatesOf(index) {
        const found = [];
        for (let dim = this.layout.shape.length - 1; dim >= 0; dim--) {
            found.unshift(index % this.layout.shape[dim]);
            index = Math.floor(index / this.layout.shape[dim]);
        }
        return found;
    }

    holder(index) {
        return this.held ? this.held.owner[index] : -1;
    }

    fit() {
        const width = this.sheet.clientWidth - 46, height = this.sheet.clientHeight - 26;
        const fits = ZOOMS.filter(zoom => zoom * this.columns <= width && (zoom <= 14 || zoom * this.rows <= height));
        this.zoom = Math.max(3, fits.length ? fits[fits.length - 1] : 1);
        this.resize();
    }

    zoomBy(by) {
        const at = ZOOMS.indexOf(this.zoom), next = ZOOMS[clamp(at + by, 0, ZOOMS.length - 1)], grown = next / this.zoom;
        const [left, top] = [this.sheet.scrollLeft + this.sheet.clientWidth / 2, this.sheet.scrollTop + this.sheet.clientHeight / 2];
        this.zoom = next;
        this.resize();
        this.sheet.scrollTo(left * grown - this.sheet.clientWidth / 2, top * grown - this.sheet.clientHeight / 2);
    }

    /* The room gives the scroll bars what the whole drawing would take; the canvas covers what is in sight. */
    resize() {
        const scale = devicePixelRatio || 1, width = this.sheet.clientWidth, height = this.sheet.clientHeight;
        this.canvas.width = width * scale;
        this.canvas.height = height * scale;
        this.canvas.style.width = `${width}px`;
        this.canvas.style.height = `${height}px`;
        this.room.style.width = `${this.columns * this.zoom + 40}px`;
        this.room.style.height = `${Math.max(0, this.rows * this.zoom + 22 - height)}px`;
        this.draw();
    }

    draw() {
        const scale = devicePixelRatio || 1, width = this.sheet.clientWidth, height = this.sheet.clientHeight, zoom = this.zoom;
        const draw = this.canvas.getContext("2d");
        draw.setTransform(scale, 0, 0, scale, 0, 0);
        draw.fillStyle = colorOf("--ground");
        draw.fillRect(0, 0, width, height);
        if (!this.held)
            return this.readout.replaceChildren("This layout has too many elements to be drawn.");
        this.left = 38;
        this.top = 18;
        const [x0, y0] = [this.sheet.scrollLeft, this.sheet.scrollTop];
        const first = [Math.floor(y0 / zoom), Math.floor(x0 / zoom)], last = [Math.min(this.rows, Math.ceil((y0 + height) / zoom)), Math.min(this.columns, Math.ceil((x0 + width) / zoom))];
        const colors = new Map(), thread = this.threadOf(this.marked);
        draw.save();
        draw.beginPath();
        draw.rect(this.left, this.top, width, height);
        draw.clip();
        for (let row = first[0]; row < last[0]; row++)
            for (let column = first[1]; column < last[1]; column++)
                this.drawCell(draw, row, column, x0, y0, colors, thread);
        this.drawFrame(draw, this.cursor, x0, y0, colorOf("--text"));
        draw.restore();
        this.drawRulers(draw, first, last, x0, y0);
    }

    threadOf(index) {
        const packed = index < 0 ? -1 : this.holder(index);
        return packed < 0 || this.layout.shared ? -1 : packed >> this.layout.bits[0];
    }

    drawCell(draw, row, column, x0, y0, colors, thread) {
        const packed = this.holder(this.indexAt(row, column)), zoom = this.zoom, x = this.left + column * zoom - x0, y = this.top + row * zoom - y0;
        if (packed < 0)
            return;
        const value = this.valueOf(packed);
        if (!colors.has(value))
            colors.set(value, this.colorOf(value));
        const gap = zoom >= 6 ? 1 : 0;
        draw.fillStyle = colors.get(value);
        draw.fillRect(x, y, zoom - gap, zoom - gap);
        if (thread >= 0 && packed >> this.layout.bits[0] === thread) {
            draw.strokeStyle = inkOn(colors.get(value));
            draw.lineWidth = zoom >= 12 ? 2 : 1;
            draw.strokeRect(x + 1.5, y + 1.5, zoom - gap - 3, zoom - gap - 3);
        }
        if (zoom >= 20)
            this.drawText(draw, packed, x, y, inkOn(colors.get(value)));
    }

    /* In a cell: what the colour says; where there is room for more, lane and register, or offset. */
    drawText(draw, packed, x, y, ink) {
        const zoom = this.zoom, [reg, lane, warp] = unpack(this.layout, packed);
        draw.fillStyle = ink;
        draw.textAlign = "center";
        draw.textBaseline = "middle";
        const lines = zoom < 34 ? [String(this.valueOf(packed))] : this.layout.shared ? [`b${Math.floor(packed * this.bytes / WORD) % BANKS}`, String(packed)] : zoom < 44 ? [`l${lane}`, `r${reg}`] : [`w${warp}`, `l${lane}`, `r${reg}`];
        draw.font = `${zoom < 26 ? 9 : 10}px ${getComputedStyle(document.documentElement).getPropertyValue("--code")}`;
        lines.forEach((line, index) => draw.fillText(line, x + zoom / 2, y + zoom / 2 + (index - (lines.length - 1) / 2) * 12, zoom - 2));
    }

    drawFrame(draw, index, x0, y0, color) {
        const columnsRows = this.rows * this.columns, at = index % columnsRows, row = Math.floor(at / this.columns), column = at % this.columns;
        draw.strokeStyle = color;
        draw.lineWidth = 2;
        draw.strokeRect(this.left + column * this.zoom - x0 - 1, this.top + row * this.zoom - y0 - 1, this.zoom + 1, this.zoom + 1);
    }

    drawRulers(draw, first, last, x0, y0) {
        const step = Math.max(1, 2 ** Math.ceil(Math.log2(26 / this.zoom)));
        draw.fillStyle = colorOf("--quiet");
        draw.font = "10px system-ui, sans-serif";
        draw.textBaseline = "middle";
        draw.textAlign = "center";
        for (let column = Math.ceil(first[1] / step) * step; column < last[1]; column += step) {
            const x = this.left + (column + 0.5) * this.zoom - x0;
            if (x > this.left)
                draw.fillText(column, x, 9);
        }
        draw.textAlign = "right";
        const down = Math.max(1, 2 ** Math.ceil(Math.log2(13 / this.zoom)));
        for (let row = Math.ceil(first[0] / down) * down; row < last[0]; row += down) {
            const y = this.top + (row + 0.5) * this.zoom - y0;
            if (y > this.top)
                draw.fillText(this.wrap ? row * this.wrap : row, this.left - 4, y);
        }
    }

    elementAt(event) {
        const box = this.canvas.getBoundingClientRect();
        const column = Math.floor((event.clientX - box.left - this.left + this.sheet.scrollLeft) / this.zoom), row = Math.floor((event.clientY - box.top - this.top + this.sheet.scrollTop) / this.zoom);
        const outside = event.clientX - box.left < this.left || event.clientY - box.top < this.top || column < 0 || row < 0 || column >= this.columns || row >= this.rows;
        return outside ? -1 : this.indexAt(row, column);
    }

    listen() {
        this.sheet.addEventListener("scroll", () => this.draw());
        this.canvas.addEventListener("mousemove", event => {
            const index = this.elementAt(event);
            this.mark(index);
            if (index >= 0)
                showTip(this.tellOf(index), event.clientX, event.clientY);
            else
                hideTip();
        });
        this.canvas.addEventListener("mouseleave", () => {
            hideTip();
            this.mark(-1);
        });
        this.canvas.addEventListener("click", event => this.elementAt(event) >= 0 && this.goTo(this.elementAt(event)));
        this.canvas.addEventListener("wheel", event => {
            if (event.ctrlKey) {
                event.preventDefault();
                this.zoomBy(event.deltaY < 0 ? 1 : -1);
            }
        }, { passive: false });
        this.canvas.addEventListener("keydown", event => {
            const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.columns, ArrowUp: -this.columns }[event.key];
            if (by !== undefined)
                this.goTo(clamp(this.cursor + by, 0, (1 << this.layout.out) - 1));
            else if (event.key === "+" || event.key === "-")
                this.zoomBy(event.key === "+" ? 1 : -1);
            else
                return;
            event.preventDefault();
            event.stopPropagation();
        });
        const observer = new ResizeObserver(() => this.entry && this.resize());
        observer.observe(this.sheet);
        panelStops.push(() => observer.disconnect());
        panelOn("theme", () => this.draw());
    }

    mark(index) {
        if (index === this.marked)
            return;
        this.marked = index;
        this.draw();
        this.say(index < 0 ? this.cursor : index);
    }

    /* Moves the cursor to an element, into its slice and in sight. */
    goTo(index) {
        this.cursor = index;
        this.marked = index;
        const at = this.coordinatesOf(index);
        this.slice.forEach((_, dim) => {
            this.slice[dim] = at[dim];
            this.slices.querySelectorAll("input")[dim].value = at[dim];
        });
        const inner = index % (this.rows * this.columns), x = inner % this.columns * this.zoom, y = Math.floor(inner / this.columns) * this.zoom;
        const reveal = (from, size, position) => (position < from ? position : position + this.zoom + 40 > from + size ? position + this.zoom + 40 - size : from);
        this.sheet.scrollTo(reveal(this.sheet.scrollLeft, this.sheet.clientWidth, x), reveal(this.sheet.scrollTop, this.sheet.clientHeight, y));
        this.draw();
        this.say(index);
    }

    tellOf(index) {
        const packed = this.holder(index), at = `[${this.coordinatesOf(index).join(", ")}]`;
        if (packed < 0)
            return `${at}: held by no thread`;
        if (this.layout.shared)
            return `${at}\noffset ${packed}, byte ${packed * this.bytes}, bank ${Math.floor(packed * this.bytes / WORD) % BANKS}`;
        const [reg, lane, warp, block] = unpack(this.layout, packed);
        return `${at}\nwarp ${warp}, lane ${lane}, register ${reg}${this.layout.bits[3] ? `, block ${block}` : ""}`;
    }

    say(index) {
        if (!this.held)
            return;
        const packed = this.holder(index), lines = [this.tellOf(index)];
        if (packed >= 0 && this.held.times > 1) {
            const others = holdersOf(this.layout, packed).slice(1), shown = others.slice(0, 4).map(other => {
                const [reg, lane, warp, block] = unpack(this.layout, other);
                return `  warp ${warp}, lane ${lane}, register ${reg}${this.layout.bits[3] ? `, block ${block}` : ""}`;
            });
            lines.push(`and ${others.length} more:`, ...shown, ...(others.length > 4 ? ["  .."] : []));
        }
        this.readout.textContent = lines.join("\n");
    }

    describe() {
        const { entry, layout } = this, rows = [];
        rows.push(["elements", count(1 << layout.out)], ["type", `${entry.type || "?"}, ${plural(this.bytes, "byte")}`]);
        if (!layout.shared)
            rows.push(["elements of a thread", count(1 << layout.bits[0])], ["lanes, warps", `${1 << layout.bits[1]}, ${1 << layout.bits[2]}`], ["threads or registers that hold an element", this.held ? count(this.held.times) : "?"], ["contiguous elements of a thread", count(runOf(layout))]);
        const bases = COORDINATES.filter(name => (entry[name] || []).length).map(name => [layout.shared ? "offset" : name, entry[name].map(basis => (Array.isArray(basis) ? `[${basis.join(",")}]` : String(basis))).join(" ")]);
        const places = (entry.at || []).map(at => placeButton(this.side, at)).filter(Boolean);
        this.notes.replaceChildren(el("h3", {}, "Layout"), el("div", { class: "bars", vars: { "grid-template-columns": "auto 1fr" } }, rows.map(([name, text]) => [el("span", { class: "quiet" }, name), el("span", { class: "mono" }, text)])),
            el("h3", {}, "Bases"), el("p", { class: "readout" }, bases.map(([name, text]) => `${name} ${text}`).join("\n")),
            ...((entry.values || []).length ? [el("h3", {}, "Values"), el("p", { class: "readout" }, entry.values.join(" "))] : []),
            ...(places.length ? [el("h3", {}, "From"), el("p", { class: "legend" }, places)] : []));
    }
}

/* Elements that a thread has in consecutive registers from 0 on and that are consecutive in the tile. */
function runOf(layout) {
    let bits = 0;
    while (bits < layout.bits[0] && layout.bases[bits] === 1 << bits)
        bits++;
    return 1 << bits;
}

function makeLayoutsPanel(body, report, side) {
    page.layoutView = new LayoutView(body, report, side);
}
