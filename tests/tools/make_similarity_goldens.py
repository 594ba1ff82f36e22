"""Writes tests/golden/data/similarity.json: BLEU of sacrebleu 2.6.0 and ROUGE of rouge-score 0.1.2 for random sentences.
Needs both packages of PyPI: `make_similarity_goldens.py OUTPUT`."""
import argparse
import json
import logging
import random

import sacrebleu
from rouge_score import rouge_scorer

WORDS = ("the a cat dog sat ran on under mat house quickly and or of in 12 3.5 1,000 U.S. Mr. don't it's well-known 7-8 "
         "x-1 2- $5 50% A&B &amp; &quot; &lt; &gt; <skipped> ( ) [ ] { } / \\ : ; ! ? \" ' , . -- … naïve Größe 日本語 "
         "The CAT e.g. 3,4 .5 5. a,b 9,a a.9 - -\n \n \t \u00a0 \u2028 \u3000 \x1c \u0085 é. É, \u212a \u0130x ½ _ ` ~ ^ | "
         "http://example.org/z?a=b#c user@host").split(" ")
# Words with the same stem.
RELATED = ["running runs run", "connected connection connecting connects", "flies flying fly", "happily happy",
           "nationalities nationality national", "relational relate related", "agreed agree agreeing", "hopping hops hop",
           "dying die dies", "skies sky", "motoring motor", "enjoyment enjoy enjoying", "generally general", "sized sizes",
           "falling falls fall", "controlling controls", "adoption adopt adopted", "hopefulness hopeful hope", "news new"]
RELATED = {word: words.split(" ") for words in RELATED for word in words.split(" ")}
TYPES = ("rouge1", "rouge2", "rougeL")


def sentence(random_, length):
    return "".join(random_.choice(WORDS if random_.random() < 0.8 else list(RELATED)) + random_.choice((" ", " ", " ", ""))
                   for _ in range(length))


def changed(random_, text):
    words = [random_.choice(RELATED.get(word, [word])) for word in text.split(" ")]
    for _ in range(random_.randrange(1, 5)):
        place = random_.randrange(len(words))
        kind = random_.randrange(4)
        if kind == 0:
            words[place] = random_.choice(WORDS)
        elif kind == 1:
            words.insert(place, random_.choice(WORDS))
        elif kind == 2 and len(words) > 1:
            del words[place]
        else:
            words[place:place + 4] = reversed(words[place:place + 4])
    return " ".join(words)


def cases(random_):
    for number in range(300):
        text = sentence(random_, random_.choice((0, 1, 2, 3, 5, 8, 13, 21)))
        references = [changed(random_, text) if random_.random() < 0.8 else sentence(random_, random_.randrange(12))
                      for _ in range(random_.choice((1, 1, 2, 3)))]
        yield text, references


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output")
    args = parser.parse_args()
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)
    scorers = {"rouge": rouge_scorer.RougeScorer(TYPES, use_stemmer=False),
               "stemmed_rouge": rouge_scorer.RougeScorer(TYPES, use_stemmer=True)}
    all_cases = list(cases(random.Random(1)))
    lines = []
    for text, references in all_cases:
        line = {"hypothesis": text, "references": references, "bleu": sacrebleu.sentence_bleu(text, references).score}
        for name, scorer in scorers.items():
            scores = scorer.score_multi(references, text)
            line[name] = [[scores[kind].precision, scores[kind].recall, scores[kind].fmeasure] for kind in TYPES]
        lines.append(line)
    corpora = []
    for first, count in ((0, 300), (0, 1), (3, 20), (50, 100), (120, 7)):
        part = all_cases[first:first + count]
        width = max(len(references) for _, references in part)
        streams = [[references[i] if i < len(references) else None for _, references in part] for i in range(width)]
        bleu = sacrebleu.corpus_bleu([text for text, _ in part], streams)
        corpora.append({"first": first, "count": count, "bleu": bleu.score, "precisions": bleu.precisions,
                        "brevity_penalty": bleu.bp, "tokens": bleu.sys_len, "reference_tokens": bleu.ref_len})
    with open(args.output, "w", encoding="utf-8") as file:
        file.write('{"corpora":' + json.dumps(corpora) + ',"lines":[\n' +
                   ",\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "]}\n")


main()
