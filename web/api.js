/*
 * The third tab: /openapi.json, read and shown. The document is the server's own, but it is drawn as
 * everything else: text nodes only.
 */

const MAX_SCHEMA_DEPTH = 6;
let apiDocument = null;

function resolveRef(node) {
  let at = node;
  while (at?.$ref !== undefined)
    at = at.$ref
      .slice(2)
      .split("/")
      .reduce((place, step) => place?.[step], apiDocument);
  return at ?? {};
}

/** What a schema with allOf says all in all. */
function mergedSchema(schema) {
  const own = resolveRef(schema);
  const parts = (own.allOf ?? []).map(mergedSchema);
  const properties = Object.assign({}, ...parts.map((p) => p.properties ?? {}), own.properties ?? {});
  const required = [...parts.flatMap((p) => p.required ?? []), ...(own.required ?? [])];
  return { ...Object.assign({}, ...parts), ...own, properties, required };
}

function typeWords(schema) {
  const own = mergedSchema(schema);
  if (own.const !== undefined) return JSON.stringify(own.const);
  if (own.enum !== undefined) return own.enum.map((v) => JSON.stringify(v)).join(" or ");
  if (own.type === "array") return `list of ${typeWords(own.items ?? {})}`;
  if (Array.isArray(own.type)) return own.type.join(" or ");
  return own.type ?? (Object.keys(own.properties).length > 0 ? "object" : "anything");
}

/** The members of a schema, those of its members inside. Null: there are none to show. */
function schemaList(schema, depth = 0) {
  let own = mergedSchema(schema);
  while (own.type === "array") own = mergedSchema(own.items ?? {});
  const members = Object.entries(own.properties);
  if (typeof own.additionalProperties === "object") members.push(["…", own.additionalProperties]);
  if (members.length === 0 || depth === MAX_SCHEMA_DEPTH) return null;
  return make(
    "ul",
    { className: "schema" },
    ...members.map(([name, member]) => {
      const inside = schemaList(member, depth + 1);
      const words = resolveRef(member).description ?? member.description;
      return make(
        "li",
        {},
        make("code", {}, name),
        make(
          "span",
          { className: "type" },
          `${typeWords(member)}${own.required.includes(name) ? "" : ", may be absent"}`,
        ),
        ...(words ? [make("span", { className: "hint" }, words)] : []),
        ...(inside ? [inside] : []),
      );
    }),
  );
}

function contentParts(content) {
  return Object.entries(content ?? {}).flatMap(([type, { schema }]) => {
    const list = schemaList(schema);
    const head = make("p", {}, make("code", {}, type), ` ${typeWords(schema)}`);
    return list ? [head, list] : [head];
  });
}

function parameterList(parameters) {
  return make(
    "ul",
    { className: "schema" },
    ...parameters.map(resolveRef).map((p) => {
      const words = p.description ? [make("span", { className: "hint" }, p.description)] : [];
      return make(
        "li",
        {},
        make("code", {}, p.name),
        make("span", { className: "type" }, `in the ${p.in}`),
        ...words,
      );
    }),
  );
}

/** Built when somebody opens it: there are hundreds of lines in all. */
function fillOperation(into, operation) {
  const parts = [];
  if (operation.parameters?.length > 0)
    parts.push(make("h3", {}, "Parameters"), parameterList(operation.parameters));
  if (operation.requestBody)
    parts.push(make("h3", {}, "Request"), ...contentParts(operation.requestBody.content));
  parts.push(make("h3", {}, "Answers"));
  for (const [status, response] of Object.entries(operation.responses)) {
    const own = resolveRef(response);
    const box = make(
      "details",
      { className: "status" },
      make("summary", {}, make("b", {}, status), ` ${own.description}`),
    );
    const headers = Object.keys(own.headers ?? {});
    if (headers.length > 0)
      box.append(make("p", { className: "hint" }, `Headers: ${headers.join(", ").toLowerCase()}`));
    box.append(...contentParts(own.content));
    box.open = status === "200";
    parts.push(box);
  }
  into.replaceChildren(...parts);
}

function operationBox(path, method, operation) {
  const body = make("div", { className: "operation-body" });
  const box = make(
    "details",
    { className: "operation" },
    make(
      "summary",
      {},
      make("b", { className: "method" }, method.toUpperCase()),
      make("code", {}, path),
      make("span", { className: "hint" }, operation.summary ?? ""),
    ),
    body,
  );
  box.addEventListener("toggle", () => {
    if (box.open && body.childNodes.length === 0) fillOperation(body, operation);
  });
  return box;
}

function drawApi() {
  const all = Object.entries(apiDocument.paths).flatMap(([path, item]) =>
    ["get", "post"].filter((m) => item[m]).map((m) => ({ path, method: m, operation: item[m] })),
  );
  $("api-list").replaceChildren(
    ...apiDocument.tags.map((tag) =>
      make(
        "div",
        { className: "card" },
        make("h2", {}, tag.name),
        make("p", { className: "hint" }, tag.description),
        ...all
          .filter((o) => o.operation.tags.includes(tag.name))
          .map((o) => operationBox(o.path, o.method, o.operation)),
      ),
    ),
  );
}

async function openApi() {
  if (apiDocument !== null) return;
  try {
    apiDocument = await (await ask("/openapi.json", { headers: requestHeaders() })).json();
    show($("api-failed"), false);
    drawApi();
  } catch (error) {
    drawNotice($("api-failed"), "That did not work", error.message);
  }
}
