// Makes elements of pages. Names in the data come from untrusted recordings. They become text,
// never markup.

export const $ = (id) => document.getElementById(id);

// Returns a new element. Empty and false children are left out.
export function element(tag, properties = {}, ...children) {
  const result = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") result.className = value;
    else if (name in result) result[name] = value;
    else result.setAttribute(name, value);
  }
  result.append(...children.filter(Boolean));
  return result;
}

export const secondary = (text) => element("span", {class: "second"}, text);

// Returns a long name in which lines may break after separators.
export function breakableName(name) {
  const parts = name.split(/(?<=[_./-])/);
  return element("span", {}, ...parts.flatMap((part) => [part, element("wbr")]).slice(0, -1));
}

// Returns an element with a location such as `train.py:41 forward`, in which a line may break only
// before the function. A part that would be wider than any screen may break inside too.
export function locationElement(text) {
  const longest = 60;
  const parts = text.split(/(?<=^\S+) /);
  const shown = parts.map((part) =>
    part.length > longest ? breakableName(part) : element("span", {class: "whole"}, part),
  );
  return element("span", {}, ...shown.flatMap((part) => [part, " "]).slice(0, -1));
}

// Shows a paragraph with this text, or hides it if the text is empty.
export function showNote(id, text) {
  $(id).hidden = !text;
  $(id).textContent = text || "";
}

// Returns a colour of the page's style sheet by its name.
export const colour = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
