// Two processes that have their model loaded, asked in turn; which one is first alternates. See tests/peer/run.
import {spawn, spawnSync} from "node:child_process";
import {existsSync, readdirSync, readFileSync, statSync} from "node:fs";
import {availableParallelism, loadavg} from "node:os";
import {createInterface} from "node:readline";
import {parseArgs} from "node:util";

const [peerFolder, ...rest] = process.argv.slice(2);
const releases = ["v0.5.0"]; // whose prototypes llama_peer declares

function leave(code, text) {
    console.error(text);
    process.exit(code);
}

function options() {
    try {
        return parseArgs({args: rest, options: {
            build: {type: "string", default: "build"}, threads: {type: "string"}, pairs: {type: "string", default: "5"},
            prefill: {type: "string", default: "512"}, decode: {type: "string", default: "64"},
            shape: {type: "string", multiple: true}, model: {type: "string"}, gguf: {type: "string"},
            greedy: {type: "string"}, convert: {type: "boolean", default: false}, json: {type: "boolean", default: false},
        }}).values;
    } catch (e) {
        leave(2, `peer: ${e.message}`);
    }
}

function number(name, text, most) {
    const n = Number(text);
    if (!Number.isInteger(n) || n < 1 || n > most) leave(2, `peer: --${name} is 1 to ${most}`);
    return n;
}

const o = options();
const threads = number("threads", o.threads ?? availableParallelism(), 1024);
const pairs = number("pairs", o.pairs, 1000);
const prefill = number("prefill", o.prefill, 2048); // llama.cpp's batch
const decode = number("decode", o.decode, 100000);

function run(command, ...args) {
    const r = spawnSync(command, args, {stdio: ["ignore", 2, 2]});
    if (r.status !== 0) leave(r.status === 3 ? 3 : 2, `peer: ${command} ${args.join(" ")} failed`);
}

// The folder of the prebuilt library, and llama.cpp's release.
function library() {
    const folder = `${peerFolder}/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64`;
    const release = JSON.parse(readFileSync(`${folder}/_nlcBuildMetadata.json`)).buildOptions.llamaCpp.release;
    if (!releases.includes(release)) {
        console.log(`SKIP peer: llama.cpp ${release}: the prototypes are those of ${releases.join(", ")}`);
        console.log("0 passed, 0 failed, 1 skipped");
        process.exit(2);
    }
    return {folder, release};
}

// Both files of a shape, made once. The tiny model's MLX codes are of its trained weights.
function models(shape) {
    const base = `${peerFolder}/models/${shape}`, tool = `${o.build}/touchstone`;
    run("mkdir", "-p", `${peerFolder}/models`);
    if (!existsSync(`${base}-gguf`))
        run(tool, "synth", "--shape", shape, "--format", "gguf-q4_k_m", "-o", `${base}-gguf`);
    if (!existsSync(`${base}-mlx`)) {
        if (shape === "tiny-qwen35") run(tool, "quantize", "--model", "golden/models/tiny-qwen35", "-o", `${base}-mlx`);
        else run(tool, "synth", "--shape", shape, "--format", "mlx", "-o", `${base}-mlx`);
    }
    return {name: shape, mlx: `${base}-mlx`, gguf: `${base}-gguf/model.gguf`};
}

// A process that answers every line with a line.
class Peer {
    constructor(name, command, args) {
        this.name = name;
        this.process = spawn(command, args.map(String), {stdio: ["pipe", "pipe", "inherit"]});
        this.process.on("exit", (code, signal) => {
            if (!this.done) leave(2, `peer: ${name} has ended (${signal ?? code})`);
        });
        this.process.on("error", (e) => leave(2, `peer: ${e.message}`));
        this.process.stdin.on("error", () => {}); // its end says more
        this.lines = createInterface({input: this.process.stdout})[Symbol.asyncIterator]();
    }
    async ask(line) {
        this.process.stdin.write(`${line}\n`);
        const {value, done} = await this.lines.next();
        if (done) leave(2, `peer: ${this.name} gives no answer`);
        return value.split(" ").map(Number);
    }
    end() {
        this.done = true;
        this.process.stdin.end();
    }
}

// Is it the model that runs, behind prototypes of our own? Greedy ids as llama.cpp's own bindings gave them. A near
// tie goes another way on another CPU, so a prompt may part later on: not at its first id, and not all of them.
async function checkGreedy(llama, file) {
    const agree = [];
    for (const [name, c] of Object.entries(JSON.parse(readFileSync(file)).cases)) {
        if (c.prompt_ids.length > prefill) continue;
        const got = await llama.ask(c.prompt_ids.join(" ")), want = c.greedy.slice(0, decode);
        const at = want.findIndex((id, i) => id !== got[i]);
        if (at === 0) leave(1, `peer: ${name}: the first id is ${got[0]}, recorded is ${want[0]}`);
        agree.push({name, ids: at < 0 ? want.length : at, whole: at < 0});
    }
    const whole = agree.filter((a) => a.whole).length;
    if (whole === 0) leave(1, `peer: ${file}: no prompt of at most ${prefill} ids goes on as recorded`);
    console.error(`greedy ids as recorded: ${whole} of ${agree.length} prompts` +
        agree.filter((a) => !a.whole).map((a) => `; ${a.name} parts after ${a.ids}`).join(""));
}

// What touchstone convert writes, in llama.cpp: the ids of llama.cpp's own conversion.
async function checkConvert(lib) {
    for (const type of ["bf16", "q8_0"]) {
        const file = `${peerFolder}/models/converted-${type}.gguf`;
        run("mkdir", "-p", `${peerFolder}/models`);
        run(`${o.build}/touchstone`, "convert", "golden/models/tiny-qwen35", file, "--type", type, "--force");
        const llama = new Peer("llama_peer", `${o.build}/tests/peer/llama_peer`,
            [lib.folder, lib.release, file, threads, prefill, decode]);
        console.error(`converted to ${type}:`);
        await checkGreedy(llama, `golden/external/peer/llamacpp-greedy-${type}.json`);
        llama.end();
    }
    console.log("2 passed, 0 failed, 0 skipped");
    process.exit(0);
}

function median(x) {
    const y = [...x].sort((a, b) => a - b), half = y.length >> 1;
    return y.length % 2 ? y[half] : (y[half - 1] + y[half]) / 2;
}

const bytes = (folder) => readdirSync(folder).filter((f) => f.endsWith(".safetensors"))
    .reduce((sum, f) => sum + statSync(`${folder}/${f}`).size, 0);

async function measure(model, lib) {
    const llama = new Peer("llama_peer", `${o.build}/tests/peer/llama_peer`,
        [lib.folder, lib.release, model.gguf, threads, prefill, decode]);
    const ours = new Peer("touchstone_peer", `${o.build}/tests/peer/touchstone_peer`,
        [model.mlx, threads, prefill, decode]);
    const times = {llama: [[], []], ours: [[], []]};
    if (o.greedy) await checkGreedy(llama, o.greedy);
    for (let i = 0; i < pairs; i++)
        for (const who of i % 2 ? ["ours", "llama"] : ["llama", "ours"]) {
            const t = await (who === "ours" ? ours : llama).ask("");
            t.forEach((seconds, phase) => times[who][phase].push(seconds));
        }
    llama.end();
    ours.end();
    return ["prefill", "decode"].map((phase, i) => {
        const ratio = times.llama[i].map((t, k) => t / times.ours[i][k]), n = i ? decode : prefill;
        return {model: model.name, phase, tokens: n, llama: n / median(times.llama[i]), ours: n / median(times.ours[i]),
            ratio: median(ratio), low: Math.min(...ratio), high: Math.max(...ratio),
            gguf_bytes: statSync(model.gguf).size, mlx_bytes: bytes(model.mlx)};
    });
}

function print(r) {
    const f = (x, digits) => x.toFixed(digits).padStart(9);
    console.log(`${r.model.padEnd(18)} ${r.phase.padEnd(7)} ${String(r.tokens).padStart(5)}` +
        `${f(r.llama, 1)}${f(r.ours, 1)}${f(r.ratio, 3)}   ${r.low.toFixed(3)} to ${r.high.toFixed(3)}`);
}

// Threads that wait for each other by spinning do badly when others run: llama.cpp's decode above all.
function warnIfBusy() {
    const free = availableParallelism() - loadavg()[0];
    if (free < threads)
        console.error(`peer: load ${loadavg()[0].toFixed(1)}: less than ${threads} of ${availableParallelism()} ` +
            "processors are free, the ratios say little");
}

const lib = library();
if (!!o.model !== !!o.gguf || (o.model && o.shape)) leave(2, "peer: --model and --gguf together, and no --shape");
if (o.greedy && !o.gguf) leave(2, "peer: --greedy goes with --gguf");
run("make", "-s", `B=${o.build}`, "Q=@", `${o.build}/touchstone`, `${o.build}/tests/peer/llama_peer`,
    `${o.build}/tests/peer/touchstone_peer`);
if (o.convert) await checkConvert(lib);
const list = o.model ? [{name: "given", mlx: o.model, gguf: o.gguf}]
    : (o.shape ?? ["tiny-qwen35", "qwen3.5-0.8b"]).map(models);
for (const file of [...list.flatMap((m) => [m.mlx, m.gguf]), ...(o.greedy ? [o.greedy] : [])])
    if (!existsSync(file)) leave(3, `peer: ${file}: no such file`);
const results = [];
warnIfBusy();
if (!o.json) {
    console.log(`llama.cpp ${lib.release} Q4_K_M against the host engine; ${threads} threads, ${pairs} pairs`);
    console.log(`${"model".padEnd(18)} phase  tokens  llama/s   ours/s    ratio   of pairs (above 1: ours is faster)`);
}
for (const model of list) {
    if (!o.json)
        console.log(`${model.name}: ${(statSync(model.gguf).size * 1e-6).toFixed(1)} MB as GGUF, ` +
            `${(bytes(model.mlx) * 1e-6).toFixed(1)} MB as MLX`);
    for (const r of await measure(model, lib)) {
        results.push(r);
        if (!o.json) print(r);
    }
}
if (o.json) console.log(JSON.stringify({schema: 1, llama: lib.release, threads, pairs, results}, null, 1));
