// Reads formulas as JSON lines on standard input, typesets each strictly, and prints the ones that KaTeX rejects:
// {"line": 3, "formula": "...", "error": "..."}. Ends with status 1 where there are any.
import { createInterface } from "node:readline";
import katex from "katex";

const options = { displayMode: true, strict: "error", throwOnError: true, trust: false };
let line = 0;
for await (const text of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  line += 1;
  const formula = JSON.parse(text);
  try {
    katex.renderToString(formula, options);
  } catch (error) {
    process.exitCode = 1;
    console.log(JSON.stringify({ line, formula, error: error.message }));
  }
}
