// The controls of an EpilogueWidget's panel. Stands before epilogue.js in one module.

const FIELDS = { tokens: "Tokens per expert", experts: "Experts", n: "N", k: "K", kernel: "Kernel" };
const WORDS = {
  kernel: { ours: "ours, plain Triton", upstream: "upstream, triton_kernels" },
  source: {
    gpu: "this GPU", replay: "replay of a recording", interpreter: "interpreter, correctness only",
  },
};
const SOURCES = ["gpu", "replay", "interpreter"];

function element(name, properties = {}, ...children) {
  const { dataset = {}, ...rest } = properties;
  const made = Object.assign(document.createElement(name), rest);
  Object.assign(made.dataset, dataset);
  made.append(...children);
  return made;
}

// One control for each field that the source offers, over the values of the widget model.
class Controls {
  constructor(model, set, host) {
    Object.assign(this, { model, set, host });
  }

  // One control a field: built anew only when what may be chosen changes, else set to its value.
  show() {
    const choices = this.model.get("choices");
    const shape = JSON.stringify([choices, this.model.get("source")]);
    if (shape !== this.shape) {
      this.shape = shape;
      const source = this.choose("source", SOURCES);
      const made = Object.keys(FIELDS).filter((name) => choices[name]).map((name) =>
        Array.isArray(choices[name])
          ? name === "tokens" ? this.slide(name, choices[name]) : this.choose(name, choices[name])
          : this.count(name, choices[name]));
      const focused = document.activeElement?.dataset?.field;
      const isInside = this.host.contains(document.activeElement);
      this.host.replaceChildren(this.label("Source", source), ...made.map((control) =>
        this.label(FIELDS[control.dataset.field], control)));
      if (isInside && focused) this.host.querySelector(`[data-field=${focused}]`)?.focus();
    }
    for (const control of this.host.querySelectorAll("[data-field]")) {
      control.take(this.model.get(control.dataset.field));
    }
  }

  label(text, control) {
    const label = element("label", {}, element("span", { textContent: text }), control);
    if (control.said) label.append(control.said);
    return label;
  }

  choose(name, values) {
    const options = values.map((value) =>
      element("option", { value, textContent: WORDS[name]?.[value] ?? Number(value).toLocaleString("en") }));
    const control = element("select", { dataset: { field: name }, disabled: values.length < 2 }, ...options);
    const isText = typeof values[0] === "string";
    control.take = (value) => (control.value = String(value));
    control.onchange = () => this.set(name, isText ? control.value : Number(control.value));
    return control;
  }

  slide(name, values) {
    const control = element("input", {
      type: "range", min: 0, max: values.length - 1, step: 1, dataset: { field: name },
      disabled: values.length < 2,
    });
    control.said = element("output", { className: "number" });
    const tell = (value) => {
      control.said.textContent = value;
      control.setAttribute("aria-valuetext", `${value}`);
    };
    control.take = (value) => {
      control.value = Math.max(0, values.findLastIndex((each) => each <= value)); // or the next below
      tell(value);
    };
    control.oninput = () => {
      tell(values[control.value]);
      this.set(name, values[control.value]);
    };
    return control;
  }

  count(name, { min, max, step }) {
    const control = element("input", { type: "number", min, max, step, dataset: { field: name } });
    control.take = (value) => {
      if (document.activeElement !== control) control.value = value;
    };
    control.onchange = () => this.set(name, Math.round(Number(control.value)));
    return control;
  }

  // Back to what was chosen before.
  take(values) {
    for (const control of this.host.querySelectorAll("[data-field]")) {
      control.take(values[control.dataset.field]);
    }
  }
}

// Keys of the panel, and chords such as Ctrl+S of the notebook around it; those that edit a number
// are the panel's, too.
function isOurs(event) {
  const isChord = event.ctrlKey || event.metaKey || event.altKey;
  if (!isChord || event.getModifierState("AltGraph")) return true;
  return event.target.type === "number" && !event.altKey && "acvxyz".includes(event.key.toLowerCase());
}

// JupyterLab listens before a panel could stop a key, but asks its target whether it is a shortcut.
function keepKeys(host) {
  const tell = (event) => {
    if (!host.contains(event.target)) return;
    if (isOurs(event)) event.target.dataset.lmSuppressShortcuts = "true";
    else delete event.target.dataset.lmSuppressShortcuts;
  };
  addEventListener("keydown", tell, true);
  host.onkeydown = (event) => {
    if (isOurs(event)) event.stopPropagation();
  };
  return () => removeEventListener("keydown", tell, true);
}
