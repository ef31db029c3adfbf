/** Runs the model in a worker, so that the page answers to the person at all times. */

/**
 * Starts the model. The worker is a Blob of the page's own program: a page of one file has no other place for it. Where
 * no worker starts, the model runs in the page.
 *
 * @param {object} parts what `create` needs
 * @param {(message: object) => void} receive takes the messages of `create`
 * @param {(parts: object, send: (message: object) => void) => Promise<(input: any) => void>} create the model
 * @returns {Promise<(input: any) => void>} sends an input to the model
 */
export async function startModel(parts, receive, create) {
  try {
    return await startWorker(parts, receive);
  } catch {
    return create(parts, receive);
  }
}

function startWorker(parts, receive) {
  return new Promise((resolve, reject) => {
    const program = document.getElementById("program").textContent; // without a document it calls `serve`
    const address = URL.createObjectURL(new Blob([program], { type: "text/javascript" }));
    const worker = new Worker(address, { type: "module" });
    worker.onerror = reject;
    worker.onmessage = ({ data }) => {
      if (!data.isReady) return receive(data);
      URL.revokeObjectURL(address);
      worker.onerror = (event) => receive({ failure: event.message });
      resolve((input) => worker.postMessage({ input }));
    };
    worker.postMessage({ parts });
  });
}

/** Serves a page from a worker: the first message holds the parts of the model, each further message an input. */
export function serve(scope, create) {
  const send = (message) => scope.postMessage(message);
  scope.onmessage = async ({ data: { parts } }) => {
    try {
      const read = await create(parts, send);
      scope.onmessage = ({ data }) => read(data.input);
      send({ isReady: true });
    } catch (error) {
      scope.onmessage = () => send({ failure: error.message });
      send({ isReady: true });
      send({ failure: error.message });
    }
  };
}

/** Lets waiting messages in. A timer would wait longer than a step of a small model takes. */
export function newMessages() {
  return new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      resolve();
    };
    channel.port2.postMessage(null);
  });
}
