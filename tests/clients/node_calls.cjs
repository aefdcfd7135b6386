// The official openai SDK for Node against a base URL: `node node_calls.cjs URL`.
//
// Prints what an application sees of each call as one JSON object.
"use strict";

const OpenAI = require("openai");

const ASK = { model: "scripted-1", messages: [{ role: "user", content: "caf\u00e9 \u{1F600}?" }] };
const TOOL = { type: "function", function: { name: "restart", parameters: { type: "object" } } };
const AUDIO = Buffer.from(Array.from({ length: 9472 }, (_, place) => place % 256));
const STATUSES = [400, 401, 403, 404, 409, 422, 429, 500, 503];

async function listed(items) {
  const all = [];
  for await (const item of await items) all.push(item);
  return all;
}

async function bytes(response) {
  return Buffer.from(await (await response).arrayBuffer()).toString("base64");
}

function calls(client) {
  const upload = () => OpenAI.toFile(AUDIO, "a.jsonl", { type: "application/jsonl" });
  const chat = (more, options) => client.chat.completions.create({ ...ASK, ...more }, options);
  const all = {
    chat: () => chat(),
    "chat with everything": () =>
      chat(
        { seed: 7, temperature: 0, unknown: { a: [1, null] } },
        { headers: { "X-Extra": "caf" }, query: { "api-version": "2024/10 21" } },
      ),
    "chat stream": () => listed(chat({ stream: true, stream_options: { include_usage: true } })),
    tools: () => chat({ tools: [TOOL] }),
    "tools stream": () => listed(chat({ tools: [TOOL], stream: true })),
    headers: async () => {
      const { data, response } = await chat().withResponse();
      return [data, response.status, [...response.headers]];
    },
    completions: () => client.completions.create({ model: "m", prompt: "p" }),
    responses: () => client.responses.create({ model: "m", input: "i" }),
    "responses stream": () => listed(client.responses.create({ model: "m", input: "i", stream: true })),
    embeddings: () => client.embeddings.create({ model: "m", input: "i" }),
    "file upload": async () => client.files.create({ file: await upload(), purpose: "batch" }),
    "file content": () => bytes(client.files.content("file-1")),
    "file deletion": () => client.files.delete("file-1"),
    transcription: async () => client.audio.transcriptions.create({ model: "m", file: await upload() }),
    speech: () => bytes(client.audio.speech.create({ model: "m", voice: "alloy", input: "i" })),
    image: () => client.images.generate({ model: "m", prompt: "p" }),
    "image edit": async () => client.images.edit({ model: "m", prompt: "p", image: await upload() }),
    batches: () => listed(client.batches.list({ limit: 2 })),
    models: () => listed(client.models.list()),
  };
  for (const status of STATUSES) all[`error ${status}`] = () => chat({ model: `error-${status}` });
  return all;
}

async function main(url) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "k", maxRetries: 0, timeout: 10_000 });
  const seen = {};
  for (const [name, call] of Object.entries(calls(client))) {
    seen[name] = await call().catch((error) => ({
      error: error.constructor.name,
      status: error.status,
      body: error.error,
      code: error.code,
      request: error.requestID,
      headers: error.headers && [...error.headers],
      // Without a status it is a failure of this script or of the connection: its text tells.
      text: error.status ? undefined : String(error.stack),
    }));
  }
  process.stdout.write(JSON.stringify(seen));
}

main(process.argv[2]);
