/** The page's language: the first that the viewer prefers of those that it has, else English. */

import { MESSAGES } from "./messages.js";

const wanted = navigator.languages?.length ? navigator.languages : [navigator.language ?? "en"];

export const language = wanted
  .map((tag) => tag.toLowerCase().split("-")[0])
  .find((tag) => tag in MESSAGES) ?? "en";

/** A message, with its values filled in. */
export function say(key, values = {}) {
  const message = MESSAGES[language][key];
  if (message === undefined) throw new Error(`there is no message ${key}`);
  return message.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** Whether there is a message of this name. */
export const isSaid = (key) => key in MESSAGES.en;

/** One of a list. */
export const sayOf = (key, place) => say(key).split(",")[place];

/** Put the words of the document into the language. */
export function translate(root) {
  root.documentElement.lang = language;
  root.title = say("title");
  for (const element of root.querySelectorAll("[data-say]")) {
    element.textContent = say(element.dataset.say);
  }
  for (const [attribute, name] of [["aria-label", "label"], ["aria-roledescription", "role"]]) {
    for (const element of root.querySelectorAll(`[data-say-${name}]`)) {
      element.setAttribute(attribute, say(element.getAttribute(`data-say-${name}`)));
    }
  }
}
