/* A list of lines of which only those in sight are elements, so that a hundred thousand scroll like ten. All lines are of
   the same height. The list is one stop of the Tab key; a cursor moves in it. */

const ROW = 17, SPARE = 12;

/* Browsers lay out nothing higher than some millions of pixels; longer texts are cut there, and say so. */
const MOST_ROWS = 900000;

class LineList {
    /* `make(index)` returns the element of a row; `told(index)` says what the cursor is on; `moved(index)`, `taken(index)`
       and `left()` hear of the cursor, of clicks and Enter, and of Escape; `hovered(index)` of the mouse, -1 when it leaves. */
    constructor(label, actions) {
        this.actions = actions;
        this.count = 0;
        this.here = 0;
        this.nodes = new Map();
        this.marks = [];
        this.room = el("div", { class: "room" });
        this.box = el("div", { class: "lines", tabindex: 0, role: "listbox", "aria-label": label }, this.room);
        this.canvas = el("canvas");
        this.sight = el("div", { class: "sight" });
        this.overview = el("div", { class: "overview", "aria-hidden": "true" }, this.canvas, this.sight);
        this.node = el("div", { class: "listing" }, this.box, this.overview);
        this.box.addEventListener("scroll", () => this.later());
        this.box.addEventListener("keydown", event => this.key(event));
        this.box.addEventListener("mousemove", event => this.actions.hovered(this.rowAt(event), event));
        this.box.addEventListener("mouseleave", event => this.actions.hovered(-1, event));
        this.box.addEventListener("click", event => this.click(event));
        this.box.addEventListener("focus", () => this.say());
        this.overview.addEventListener("pointerdown", event => this.scrollToRow(Math.floor((event.clientY - this.overview.getBoundingClientRect().top) / this.rowInOverview(this.overview.clientHeight))));
        let width = 0;
        new ResizeObserver(() => {
            if (width !== this.box.clientWidth && this.count) /* notes are as long as there is room */
                this.redraw();
            width = this.box.clientWidth;
            this.later();
            this.drawOverview();
        }).observe(this.box);
    }

    /* Shows `count` rows, the longest of `columns` characters; the cursor stays on its row if there is one. */
    set(count, columns) {
        this.count = Math.min(count, MOST_ROWS);
        this.here = clamp(this.here, 0, Math.max(0, this.count - 1));
        this.room.style.height = `${this.count * ROW}px`;
        this.room.style.width = `calc(${columns}ch + var(--margin, 90px))`;
        this.redraw();
    }

    redraw() {
        this.room.replaceChildren();
        this.nodes.clear();
        this.draw();
        this.drawOverview();
    }

    later() {
        if (!this.waiting) {
            this.waiting = true;
            requestAnimationFrame(() => {
                this.waiting = false;
                this.draw();
            });
        }
    }

    /* Makes the rows that came in sight and drops those that left. Asks where the list is before anything changes, since to ask later
       would cost a layout in each frame of scrolling. */
    draw() {
        const { scrollTop: top, clientHeight: height } = this.box, added = document.createDocumentFragment(), fresh = [];
        const first = Math.max(0, Math.floor(top / ROW) - SPARE), last = Math.min(this.count, Math.ceil((top + height) / ROW) + SPARE);
        for (const [index, node] of this.nodes)
            if (index < first || index >= last) {
                node.remove();
                this.nodes.delete(index);
            }
        for (let index = first; index < last; index++) {
            if (this.nodes.has(index))
                continue;
            const node = this.actions.make(index);
            node.id = node.id || `${this.box.getAttribute("aria-label").replace(/\W+/g, "-")}-${index}`;
            node.style.top = `${index * ROW}px`;
            node.dataset.index = index;
            node.setAttribute("role", "option");
            node.setAttribute("aria-setsize", this.count);
            node.setAttribute("aria-posinset", index + 1);
            added.append(node);
            this.nodes.set(index, node);
            fresh.push(index);
        }
        fresh.forEach(index => this.dress(index, this.nodes.get(index)));
        this.room.append(added);
        const active = this.nodes.get(this.here)?.id || "";
        if (this.box.getAttribute("aria-activedescendant") !== active)
            this.box.setAttribute("aria-activedescendant", active);
        const each = this.rowInOverview(height);
        this.sight.hidden = this.count * ROW <= height;
        this.sight.style.height = `${Math.max(4, height / ROW * each)}px`;
        this.sight.style.transform = `translateY(${top / ROW * each}px)`;
    }

    rowInOverview(height) { return Math.min(ROW, height / Math.max(1, this.count)); }

    /* Brings classes of the rows in sight up to date. */
    dressAll() {
        for (const [index, node] of this.nodes)
            this.dress(index, node);
        this.drawOverview();
    }

    dress(index, node) {
        node.classList.toggle("here", index === this.here);
        node.setAttribute("aria-selected", index === this.here);
        this.actions.dress(index, node);
    }

    /* The whole list as a strip, drawn anew only when its marks change: [index, CSS variable of a colour, left part, width] with parts of 1. */
    drawOverview() {
        const scale = devicePixelRatio || 1, width = 14, height = this.box.clientHeight, canvas = this.canvas;
        if (canvas.width !== width * scale || canvas.height !== height * scale) {
            canvas.width = width * scale;
            canvas.height = height * scale;
            canvas.style.height = `${height}px`;
        }
        const draw = canvas.getContext("2d");
        draw.setTransform(scale, 0, 0, scale, 0, 0);
        draw.clearRect(0, 0, width, height);
        if (!this.count || !height)
            return;
        const each = this.rowInOverview(height), colors = new Map();
        for (const [index, color, left, part] of this.marks.concat(this.actions.marks())) {
            if (!colors.has(color))
                colors.set(color, colorOf(color));
            draw.fillStyle = colors.get(color);
            draw.fillRect(left * width, index * each, part * width, Math.max(2, each));
        }
    }

    rowAt(event) {
        const row = event.target.closest?.(".row");
        return row && this.room.contains(row) ? Number(row.dataset.index) : -1;
    }

    click(event) {
        const index = this.rowAt(event);
        if (index < 0 || String(getSelection()) !== "")
            return;
        this.go(index, false);
        this.actions.taken(index, event);
    }

    /* Moves the cursor, in sight and told. */
    go(index, quietly) {
        if (!this.count)
            return;
        const old = this.here;
        this.here = clamp(index, 0, this.count - 1);
        for (const changed of [old, this.here])
            if (this.nodes.has(changed))
                this.dress(changed, this.nodes.get(changed));
        this.reveal(this.here);
        this.draw();
        if (!quietly) {
            this.actions.moved(this.here);
            this.say();
        }
    }

    say() {
        if (this.count)
            tell(this.actions.told(this.here));
    }

    /* Scrolls as little as it takes, but with some lines around. */
    reveal(index) {
        const top = index * ROW, height = this.box.clientHeight, margin = Math.min(3 * ROW, height / 4);
        if (top < this.box.scrollTop + margin || top + ROW > this.box.scrollTop + height - margin) {
            const far = Math.abs(top - this.box.scrollTop - height / 2) > height;
            this.box.scrollTop = far ? top - height / 2 : top < this.box.scrollTop + margin ? top - margin : top + ROW + margin - height;
        }
    }

    scrollToRow(index) {
        this.box.scrollTop = index * ROW - this.box.clientHeight / 2;
        this.later();
    }

    inSight(index) {
        const top = index * ROW;
        return top >= this.box.scrollTop && top + ROW <= this.box.scrollTop + this.box.clientHeight;
    }

    key(event) {
        if (event.ctrlKey || event.metaKey || event.altKey)
            return;
        const leaf = Math.max(1, Math.floor(this.box.clientHeight / ROW) - 2);
        const to = { ArrowDown: this.here + 1, j: this.here + 1, ArrowUp: this.here - 1, k: this.here - 1, PageDown: this.here + leaf, PageUp: this.here - leaf, Home: 0, g: 0, End: this.count - 1, G: this.count - 1 }[event.key];
        if (to !== undefined)
            this.go(to, false);
        else if (event.key === "Enter" || event.key === " ")
            this.actions.taken(this.here, event);
        else if (event.key === "ArrowRight" || event.key === "ArrowLeft")
            this.box.scrollLeft += event.key === "ArrowRight" ? 60 : -60;
        else
            return;
        event.preventDefault();
        event.stopPropagation();
    }
}
