// plotly.js from a living kernel, once a page. Stands before the code that draws in one module.

const PATIENCE = 60_000; // milliseconds; a kernel that runs a cell answers nothing

function plotlyFrom(model) {
  if (globalThis.Plotly) return Promise.resolve(globalThis.Plotly);
  globalThis.protonlabPlotly ??= new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      globalThis.protonlabPlotly = undefined; // the next figure asks again
      reject(new Error("the kernel did not send plotly.js"));
    }, PATIENCE);
    model.on("msg:custom", async (message, [packed]) => {
      if (message.kind !== "plotly.js") return;
      clearTimeout(timer);
      const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      const module = { exports: {} };
      const source = await new Response(unpacked).text();
      new Function("module", "exports", "define", source)(module, module.exports);
      resolve(module.exports);
    });
    model.send({ kind: "plotly.js" });
  });
  return globalThis.protonlabPlotly;
}
