/* Texts: colours of their words, and which lines of two texts are the same. */

/* For each kind of text the words that stand out, the first rule that matches taking them. */
const SYNTAX = (() => {
    const number = ["num", /\b0[xX][\da-fA-F.p+]+\b|\b\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\b/];
    const string = ["str", /"(?:\\.|[^"\\])*"/];
    const kinds = {
        source: [
            ["com", /#.*/],
            ["str", /[rbfRBF]*(?:"""(?:.*?"""|.*)|'''(?:.*?'''|.*)|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')/],
            ["key", /\b(?:def|return|if|elif|else|for|while|in|and|or|not|is|import|from|as|class|pass|break|continue|lambda|with|assert|global|nonlocal|del|raise|try|except|finally|yield|None|True|False)\b/],
            ["name", /@[\w.]+|\b(?:tl|triton|libdevice|math)(?:\.\w+)+|(?<=\bdef )\w+/],
            number,
        ],
        ast: [["str", string[1]], ["key", /(?<=\()[\w-]+/], number],
        tir: [
            ["com", /\/\/.*/], string,
            ["type", /\b(?:tile|buffer|ptr|tensor)<(?:[^<>]|<[^<>]*>)*>|(?<![%\w])(?:i1|i8|i16|i32|i64|f16|bf16|f32|f64|tf32|f8\w*)\b|#L\d+/],
            ["name", /[%@][\w.]+/],
            ["key", /\b(?:func|for|while|if|else|yield|return|layout|condition)\b/],
            ["op", /(?<== )[a-z]\w*|(?<=^\s*)[a-z]\w*(?= )/], number,
        ],
        ll: [
            ["com", /;.*/], string,
            ["name", /[%@][-\w.$]+|![\w.]+/],
            ["type", /<\d+ x \w+>|\b(?:i\d+|half|bfloat|float|double|ptr|void|label|metadata|token)\b/],
            ["key", /\b(?:define|declare|target|datalayout|triple|attributes|global|constant|private|internal|external|local_unnamed_addr|align|inbounds|nuw|nsw|fast|contract|to|distinct|tail|addrspace|source_filename)\b/],
            ["op", /(?<== )[a-z]\w*|(?<=^\s*)(?:br|ret|store|call|fence|unreachable|switch)\b/], number,
        ],
        ptx: [
            ["com", /\/\/.*/], string,
            ["type", /\.(?:b|u|s|f|bf)(?:8|16|32|64|128)(?:x\d)?\b|\.pred\b/],
            ["name", /%[\w.$]+|\$L\w+/],
            ["key", /(?<=^\s*)\.\w+|@!?%\w+/],
            ["op", /(?<=^\s*(?:@!?%\w+\s+)?\{?\s*)[a-z][\w]*(?=[.\s;])/], number,
        ],
        sass: [["com", /\/\*.*?\*\/|\/\/.*/], ["name", /\b(?:U?R\d+|U?RZ|U?P[T\d]\d?)\b/], ["op", /\b[A-Z][A-Z0-9]+(?:\.[A-Z0-9_.]+)*\b/], number],
    };
    return Object.fromEntries(Object.entries(kinds).map(([kind, rules]) =>
        [kind, new RegExp(rules.map(([name, rule]) => `(?<${name}>${rule.source})`).join("|"), "g")]));
})();

/* Beyond this a line is data, which colours do not help. */
const LONGEST_COLOURED = 3000;

/* Pieces of a line: [text, class or ""]. `inside`: the line lies in a string that began on an earlier one. */
function pieces(text, kind, inside) {
    const rule = SYNTAX[kind];
    if (inside === true)
        return [[text, "t-str"]];
    if (!rule || text.length > LONGEST_COLOURED)
        return [[text, ""]];
    const found = [];
    let end = 0;
    if (typeof inside === "number") { /* the string ends here */
        found.push([text.slice(0, inside), "t-str"]);
        end = inside;
    }
    rule.lastIndex = end;
    for (let match; (match = rule.exec(text));) {
        if (match[0] === "") {
            rule.lastIndex++;
            continue;
        }
        if (match.index > end)
            found.push([text.slice(end, match.index), ""]);
        const [name] = Object.entries(match.groups).find(([, value]) => value !== undefined);
        found.push([match[0], `t-${name}`]);
        end = rule.lastIndex;
    }
    if (end < text.length)
        found.push([text.slice(end), ""]);
    return found;
}

/* For each line of a source: true where a string of three quotes covers it, the column where one ends that began before,
   false elsewhere. */
function stringLines(lines) {
    let open = "";
    return lines.map(line => {
        let state = false, at = 0;
        if (open) {
            const end = line.indexOf(open);
            if (end < 0)
                return true;
            state = at = end + 3;
            open = "";
        }
        for (;;) {
            const rest = line.slice(at);
            const match = /"""|'''|#|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/.exec(rest);
            if (!match || match[0] === "#")
                return state;
            at += match.index + match[0].length;
            if (match[0] === '"""' || match[0] === "'''") {
                const end = line.indexOf(match[0], at);
                if (end < 0) {
                    open = match[0];
                    return state;
                }
                at = end + 3;
            }
        }
    });
}

/* Lines as a comparison sees them: values that have a number for a name are all the same, since one op more renumbers all
   behind it; so do places of debugging information. */
function comparable(line, kind) {
    if (kind === "ptx")
        return line.replace(/%(r|rd|f|fd|p|rs|rh|h|hh|b|rq)\d+/g, "%$1").replace(/\$L__\w+/g, "$L").trim();
    if (kind === "tir" || kind === "ll")
        return line.replace(/%[\w.]*?\d+\b/g, name => name.replace(/\d+$/, "")).replace(/!\d+/g, "!").replace(/#L\d+/g, "#L").trim();
    return line;
}

/* Pairs [i, j] of equal lines, rising in both: lines that occur once in both texts are anchors (patience), and what lies
   between is compared by Myers' algorithm as long as it differs in at most MOST_EDITS lines. */
const MOST_EDITS = 400;

function samePairs(before, after) {
    const pairs = [];
    compareRange(before, after, 0, before.length, 0, after.length, pairs, 0);
    return pairs;
}

function compareRange(a, b, a0, a1, b0, b1, pairs, depth) {
    while (a0 < a1 && b0 < b1 && a[a0] === b[b0])
        pairs.push([a0++, b0++]);
    const tail = [];
    while (a0 < a1 && b0 < b1 && a[a1 - 1] === b[b1 - 1])
        tail.push([--a1, --b1]);
    if (a0 < a1 && b0 < b1) {
        const anchors = depth < 30 ? uniqueAnchors(a, b, a0, a1, b0, b1) : [];
        if (anchors.length) {
            let i = a0, j = b0;
            for (const [x, y] of anchors) {
                compareRange(a, b, i, x, j, y, pairs, depth + 1);
                pairs.push([x, y]);
                i = x + 1;
                j = y + 1;
            }
            compareRange(a, b, i, a1, j, b1, pairs, depth + 1);
        } else {
            pairs.push(...shortestEdits(a, b, a0, a1, b0, b1));
        }
    }
    pairs.push(...tail.reverse());
}

/* Lines that occur once in each range, as the longest run that rises in both. */
function uniqueAnchors(a, b, a0, a1, b0, b1) {
    const seen = new Map();
    for (let i = a0; i < a1; i++)
        seen.set(a[i], { times: (seen.get(a[i])?.times || 0) + 1, at: i, other: 0, there: -1 });
    for (let j = b0; j < b1; j++) {
        const entry = seen.get(b[j]);
        if (entry) {
            entry.other++;
            entry.there = j;
        }
    }
    const candidates = [...seen.values()].filter(entry => entry.times === 1 && entry.other === 1).map(entry => [entry.at, entry.there]);
    candidates.sort((x, y) => x[0] - y[0]);
    const ends = [], back = new Array(candidates.length).fill(-1);
    candidates.forEach(([, there], index) => {
        let low = 0, high = ends.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (candidates[ends[middle]][1] < there)
                low = middle + 1;
            else
                high = middle;
        }
        back[index] = low ? ends[low - 1] : -1;
        ends[low] = index;
    });
    const run = [];
    for (let index = ends.length ? ends[ends.length - 1] : -1; index >= 0; index = back[index])
        run.push(candidates[index]);
    return run.reverse();
}

function shortestEdits(a, b, a0, a1, b0, b1) {
    const n = a1 - a0, m = b1 - b0, most = Math.min(n + m, MOST_EDITS), trail = [];
    let best = new Int32Array(2 * most + 3);
    for (let d = 0; d <= most; d++) {
        trail.push(best.slice());
        for (let k = -d; k <= d; k += 2) {
            const down = k === -d || (k !== d && best[most + k] < best[most + k + 2]);
            let x = down ? best[most + k + 2] : best[most + k] + 1;
            let y = x - k;
            while (x < n && y < m && a[a0 + x] === b[b0 + y]) {
                x++;
                y++;
            }
            best[most + k + 1] = x;
            if (x >= n && y >= m)
                return editPairs(trail, most, a0, b0, n, m);
        }
    }
    return [];
}

/* Back through what each number of edits reached; what was walked diagonally is the same. */
function editPairs(trail, most, a0, b0, n, m) {
    const pairs = [];
    let x = n, y = m;
    for (let d = trail.length - 1; d >= 0; d--) {
        const best = trail[d], k = x - y;
        const down = k === -d || (k !== d && best[most + k] < best[most + k + 2]);
        const beforeX = down ? best[most + k + 2] : best[most + k];
        const beforeY = beforeX - (down ? k + 1 : k - 1);
        while (x > beforeX && y > beforeY) {
            x--;
            y--;
            pairs.push([a0 + x, b0 + y]);
        }
        x = beforeX;
        y = beforeY;
    }
    return pairs.reverse();
}

/* The rows of both texts in order, same lines beside each other: [i or -1, j or -1, same]. With `zipped`, lines that stand
   in place of each other share a row. */
function alignedRows(before, after, pairs, zipped) {
    const rows = [];
    let i = 0, j = 0;
    for (const [x, y] of [...pairs, [before.length, after.length]]) {
        while (zipped && i < x && j < y)
            rows.push([i++, j++, false]);
        while (i < x)
            rows.push([i++, -1, false]);
        while (j < y)
            rows.push([-1, j++, false]);
        if (x < before.length)
            rows.push([i++, j++, true]);
    }
    return rows;
}
