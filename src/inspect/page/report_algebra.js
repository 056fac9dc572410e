/* Linear layouts, as src/types/layout.h has them: the row-major index of an element is the XOR of the bases whose bit of
   the register, lane, warp or block is set. A layout of a buffer has bases of `reg` alone: bits of the element's offset. */

const COORDINATES = ["reg", "lane", "warp", "block"];

function log2(value) {
    return Math.round(Math.log2(value));
}

/* A basis as an index: the report writes it as coordinates, one a dimension. */
function indexOf(basis, shape) {
    if (typeof basis === "number")
        return basis;
    return basis.reduce((index, coordinate, dim) => index * shape[dim] + coordinate, 0);
}

/* {shape, out: bits of the index, bits: [of reg, lane, warp, block], bases: all in that order, shared: of a buffer}. */
function makeLayout(entry) {
    const shape = entry.shape?.length ? entry.shape : [1];
    const parts = COORDINATES.map(name => (entry[name] || []).map(basis => indexOf(basis, shape)));
    return { shape, out: log2(shape.reduce((product, extent) => product * extent, 1)), bits: parts.map(part => part.length), bases: parts.flat(), shared: entry.memory ? entry.memory === "shared" : !parts[1].length && !parts[2].length && !parts[3].length && parts[0].length > 0 };
}

/* The element that packed coordinates (register lowest) hold. */
function applyLayout(layout, packed) {
    let index = 0;
    for (let bit = 0; packed >> bit; bit++)
        if (packed >> bit & 1)
            index ^= layout.bases[bit];
    return index;
}

function pack(layout, reg, lane, warp, block) {
    const [r, l, w] = layout.bits;
    return reg | lane << r | warp << (r + l) | block << (r + l + w);
}

function unpack(layout, packed) {
    let at = 0;
    return layout.bits.map(bits => {
        const part = packed >> at & ((1 << bits) - 1);
        at += bits;
        return part;
    });
}

/* For every element the lowest packed coordinates that hold it, and how many do: each element held is held equally often. */
function ownersOf(layout) {
    const owner = new Int32Array(1 << layout.out).fill(-1), inputs = layout.bases.length;
    const index = new Int32Array(1 << inputs);
    for (let bit = 0; bit < inputs; bit++)
        for (let low = 0; low < 1 << bit; low++)
            index[low | 1 << bit] = index[low] ^ layout.bases[bit];
    for (let packed = (1 << inputs) - 1; packed >= 0; packed--)
        owner[index[packed]] = packed;
    return { owner, times: (1 << inputs) >> rankOf(layout.bases) };
}

/* All that hold the element that `packed` holds, by the combinations of inputs that lead to index 0. */
function holdersOf(layout, packed) {
    const kernel = [], rows = [];
    layout.bases.forEach((basis, bit) => {
        let vector = basis, used = 1 << bit;
        for (const row of rows)
            if ((vector ^ row.vector) < vector) {
                vector ^= row.vector;
                used ^= row.used;
            }
        if (vector)
            rows.push({ vector, used });
        else
            kernel.push(used);
    });
    let holders = [packed];
    for (const other of kernel.slice(0, 12))
        holders = holders.concat(holders.map(holder => holder ^ other));
    return holders.sort((a, b) => a - b);
}

/* The dimension of what the vectors span. */
function rankOf(vectors) {
    const rows = [];
    for (let vector of vectors) {
        for (const row of rows)
            vector = Math.min(vector, (vector ^ row) >>> 0);
        if (vector)
            rows.push(vector);
    }
    return rows.length;
}

/* Vectors with the combination of others that makes them, reduced by each other: `solve` finds the combination for a
   vector, or -1. */
class Space {
    constructor() { this.rows = []; }

    reduce(vector, used) {
        for (const row of this.rows)
            if (((vector ^ row.vector) >>> 0) < vector) {
                vector = (vector ^ row.vector) >>> 0;
                used ^= row.used;
            }
        return [vector, used];
    }

    insert(vector, used) {
        const [rest, combination] = this.reduce(vector, used);
        if (rest) {
            this.rows.push({ vector: rest, used: combination });
            this.rows.sort((a, b) => b.vector - a.vector);
        }
        return rest !== 0;
    }

    solve(vector) {
        const [rest, used] = this.reduce(vector, 0);
        return rest ? -1 : used;
    }
}

/* The inverse of a buffer's layout: index to offset. */
function invertLayout(layout) {
    const space = new Space();
    layout.bases.forEach((basis, bit) => space.insert(basis, 1 << bit));
    return index => {
        let offset = 0;
        for (let bit = 0; index >> bit; bit++)
            if (index >> bit & 1)
                offset ^= Math.max(0, space.solve(1 << bit));
        return offset;
    };
}

/* How a warp that holds a tile in the layout `dist` reads or writes it in a buffer of the layout `shared`, with the widest
   vectors that both allow, as layout_shared_access finds them: {vector: elements, accesses, lanes of a phase, phases,
   wavefronts of a phase, words(access, lane) -> words of shared memory}. */
const WORD = 4, BANKS = 32, WIDEST = 16;

function sharedAccess(dist, shared, elementBytes) {
    const toOffset = invertLayout(shared), offsets = dist.bases.map(toOffset), registers = dist.bits[0], vectors = [];
    const reachable = new Space();
    for (let bit = 0; bit < registers; bit++)
        reachable.insert(offsets[bit], 1 << bit);
    while (elementBytes << (vectors.length + 1) <= WIDEST && vectors.length < dist.out && reachable.solve(1 << vectors.length) > 0)
        vectors.push(reachable.solve(1 << vectors.length));
    for (const offset of offsets.slice(registers))
        while (offset & ((1 << vectors.length) - 1))
            vectors.pop();
    const covered = new Space(), accesses = [];
    vectors.forEach((used, bit) => covered.insert(1 << bit, used));
    for (let bit = 0; bit < registers; bit++) {
        let base = offsets[bit];
        if (!covered.insert(base, 1 << bit))
            continue;
        base &= ~((1 << vectors.length) - 1);
        accesses.push(base);
    }
    const wide = elementBytes << vectors.length, phaseLanes = wide >= 16 ? 8 : wide === 8 ? 16 : 32;
    const words = (access, lane) => {
        let offset = 0;
        accesses.forEach((base, bit) => (offset ^= access >> bit & 1 ? base : 0));
        for (let bit = 0; bit < dist.bits[1]; bit++)
            offset ^= lane >> bit & 1 ? offsets[registers + bit] : 0;
        const first = offset * elementBytes, found = [];
        for (let at = Math.floor(first / WORD); at * WORD < first + wide; at++)
            found.push(at);
        return found;
    };
    return { vector: 1 << vectors.length, bytes: wide, accesses: 1 << accesses.length, phaseLanes, phases: 32 / phaseLanes, words };
}

/* Which lanes touch which words of which bank in a phase, and how many wavefronts that takes: the most distinct words of
   one bank. */
function phaseOf(access, number, phase) {
    const banks = Array.from({ length: BANKS }, () => new Map());
    for (let lane = phase * access.phaseLanes; lane < (phase + 1) * access.phaseLanes; lane++)
        for (const word of access.words(number, lane)) {
            const bank = banks[word % BANKS];
            bank.set(word, [...(bank.get(word) || []), lane]);
        }
    return { banks, wavefronts: Math.max(1, ...banks.map(bank => bank.size)) };
}

/* Bytes of an element, which the report says, or the name of its type: f16, bf16, i1, f8e4m3; pointers have eight. */
function elementBytes(entry) {
    const name = String(entry.type || "").replace(/^.*x(?=[a-z])/, "");
    const bits = /^(?:ptr|\*)/.test(name) ? 64 : Number(/\d+/.exec(name)?.[0] || 32);
    return entry.element_bytes || Math.max(1, bits >> 3);
}
