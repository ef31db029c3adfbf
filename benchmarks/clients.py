"""Whether tools that take a sentence encoder work with one.

    pip install bertopic chromadb faiss-cpu keybert langchain-huggingface setfit txtai
    python -m benchmarks.clients checkpoints/hashgram-nano-sentence

A tool works if it finds the first of eight texts, or its topic or label, also after saving; if copies are in one group.
"""
# mypy: no-warn-return-any

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from tempfile import TemporaryDirectory

from datasets import Dataset
from sentence_transformers import SentenceTransformer

from benchmarks.measure import parser
from vocabless.saving.tables import markdown_table

ANIMALS = ["A cat sleeps.", "A kitten naps in the sun.", "A dog barks at the postman.", "A puppy plays with a ball."]
MONEY = ["Shares fell today.", "The stock market lost two percent.", "The bank made a profit.", "Interest rates rose."]
TEXTS, TOPICS = ANIMALS + MONEY, ["animals"] * len(ANIMALS) + ["money"] * len(MONEY)
QUERY = "the cat is asleep"


def _bertopic(source: str, encoder: SentenceTransformer, folder: str) -> bool:
    from bertopic import BERTopic

    topics = BERTopic(embedding_model=encoder, min_topic_size=3)
    topics.fit(4 * TEXTS).save(folder, serialization="safetensors", save_embedding_model=False)
    return BERTopic.load(folder, embedding_model=encoder).find_topics(QUERY)[0][0] == topics.topics_[0]


def _chromadb(source: str, encoder: SentenceTransformer, folder: str) -> bool:
    from chromadb import PersistentClient
    from chromadb.utils.embedding_functions import SentenceTransformerEmbeddingFunction

    embed = SentenceTransformerEmbeddingFunction(source, trust_remote_code=True)
    collection = PersistentClient(folder).create_collection("texts", embedding_function=embed)
    collection.add([str(place) for place in range(len(TEXTS))], documents=TEXTS)
    query = f"PersistentClient({folder!r}).get_collection('texts').query(query_texts=[{QUERY!r}])"
    code = f"from chromadb import PersistentClient; print({query}['documents'][0][0])"
    return subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True).stdout.strip() == TEXTS[0]


def _faiss_cpu(source: str, encoder: SentenceTransformer, folder: str) -> bool:
    from faiss import IndexFlatIP

    index = IndexFlatIP(encoder.get_embedding_dimension())
    index.add(encoder.encode(TEXTS))
    return index.search(encoder.encode([QUERY]), 1)[1].tolist() == [[0]]


def _scikit_learn(source: str, encoder: SentenceTransformer, folder: str) -> bool:
    from sklearn.cluster import HDBSCAN

    groups = HDBSCAN(min_cluster_size=2, copy=True).fit_predict(encoder.encode(2 * TEXTS)).tolist()
    return groups[: len(TEXTS)] == groups[len(TEXTS) :] and len({*groups}) > 1


def _keybert(source: str, encoder: SentenceTransformer, folder: str) -> bool:
    from keybert import KeyBERT

    return KeyBERT(encoder).extract_keywords(TEXTS, top_n=1)[0][0][0] == "cat"


def _langchain_huggingface(source: str, encoder: SentenceTransformer, folder: str) -> bool:
    from langchain_core.vectorstores import InMemoryVectorStore
    from langchain_huggingface import HuggingFaceEmbeddings

    embeddings = HuggingFaceEmbeddings(model_name=source, model_kwargs={"trust_remote_code": True})
    return InMemoryVectorStore.from_texts(TEXTS, embeddings).similarity_search(QUERY)[0].page_content == TEXTS[0]


def _setfit(source: str, encoder: SentenceTransformer, folder: str) -> bool:
    from setfit import SetFitModel, Trainer, TrainingArguments

    model = SetFitModel.from_pretrained(source, trust_remote_code=True, labels=sorted({*TOPICS}))
    options = TrainingArguments(folder, max_steps=5, report_to="none", save_strategy="no")
    Trainer(model, options, train_dataset=Dataset.from_dict({"text": TEXTS, "label": TOPICS})).train()
    model.save_pretrained(folder)
    return [*SetFitModel.from_pretrained(folder, trust_remote_code=True).predict(TEXTS)] == TOPICS


def _txtai(source: str, encoder: SentenceTransformer, folder: str) -> bool:
    from txtai import Embeddings

    embeddings = Embeddings(path=source, method="sentence-transformers", vectors={"trust_remote_code": True})
    embeddings.index(TEXTS)
    embeddings.save(folder)
    return Embeddings().load(folder).search(QUERY, 1)[0][0] == 0


CLIENTS = (_bertopic, _chromadb, _faiss_cpu, _keybert, _langchain_huggingface, _scikit_learn, _setfit, _txtai)


def main(argv: list[str] | None = None) -> None:
    """Prints a table with a row for each tool: its version, and whether it works."""
    command_line = parser(__doc__)
    command_line.add_argument("model", help="folder or Hub id of a sentence encoder")
    source = command_line.parse_args(argv).model
    encoder, rows = SentenceTransformer(source, trust_remote_code=True, device="cpu"), []
    for client in CLIENTS:
        package = client.__name__[1:].replace("_", "-")
        try:
            with TemporaryDirectory() as folder:
                result = [version(package), "yes" if client(source, encoder, folder) else "no: a wrong result"]
        except PackageNotFoundError:
            result = ["–", "is not installed"]
        except Exception as error:  # a tool may raise anything
            result = [version(package), f"no: {(str(error) or repr(error)).splitlines()[0]}"]
        rows.append([package, *result])
    print(markdown_table(["client", "version", "works"], rows, num_texts=3))


if __name__ == "__main__":
    main()
