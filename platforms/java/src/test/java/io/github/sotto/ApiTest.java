package io.github.sotto;

import static io.github.sotto.Tests.MODEL;
import static io.github.sotto.Tests.check;
import static io.github.sotto.Tests.fails;
import static io.github.sotto.Tests.same;
import static io.github.sotto.Tests.shape;
import static io.github.sotto.Tests.text;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;

/** Tests of every part of the Java interface. */
final class ApiTest {
    private ApiTest() {}

    static void testModels() throws Exception {
        byte[] bytes = Files.readAllBytes(Tests.MODEL_PATH);
        ModelParams params = new ModelParams();
        params.isa = Isa.REFERENCE;
        params.verifyChecksums = false;
        params.copyWeights = true;
        params.log = (level, message) -> {};
        try (Model model = Model.of(bytes, params); Session session = model.session(shape());
                Session other = MODEL.session(shape())) {
            same(model.info().isa, Isa.REFERENCE);
            same(Sotto.nameOf(model.info().isa), "reference");
            same(Model.memorySize(bytes, params), model.memoryBytes());
            same(text(session, "It was", 5), text(other, "It was", 5));
            same(session.info().memoryBytes, model.sessionMemorySize(shape()));
        }
        same(Sotto.version()[0], 1);
        same(new String(MODEL.tokenBytes(MODEL.tokenize(" time")[0]), StandardCharsets.UTF_8), " time");
        same(MODEL.tokenize("<|endoftext|>", true), new int[] {MODEL.info().endOfTextToken});
        same(MODEL.tokenFlags(MODEL.info().endOfTextToken), TokenFlag.SPECIAL | TokenFlag.END_OF_TEXT);
        same(MODEL.text(ModelTextKind.CHAT_TEMPLATE), "");
        check(!MODEL.text(ModelTextKind.NAME).isEmpty(), "a model without a name");
        same(MODEL.detokenize(new int[0]).length, 0);
        same(fails(SottoException.class, () -> MODEL.detokenize(new int[] {-1})).status(), Status.INVALID_ARGUMENT);
        String info = MODEL.info().toString();
        check(info.startsWith("ModelInfo{vocabularySize=4096, ") && info.endsWith("}"), info);
        check(MODEL.tokenize("\ud83d\ude00\0")[0] >= 0, "text outside the basic plane");
    }

    static void testErrorsOfFilesNameTheFile() throws Exception {
        Path directory = Files.createTempDirectory("sotto");
        Path damaged = Files.writeString(directory.resolve("damaged.sotto"), "no model");
        Path missing = directory.resolve("missing.sotto");
        for (Path path : new Path[] {directory, damaged, missing}) {
            String message = fails(Exception.class, () -> Model.open(path.toString())).getMessage();
            check(message.startsWith(path + ": "), message);
        }
        Files.delete(damaged);
        Files.delete(directory);
    }

    /** Returns the number of an open file, which Java does not tell. */
    private static int descriptorOf(Path path) throws Exception {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(Paths.get("/proc/self/fd"))) {
            for (Path file : files) {
                if (Files.isSymbolicLink(file) && Files.readSymbolicLink(file).equals(path)) {
                    return Integer.parseInt(file.getFileName().toString());
                }
            }
        }
        throw new AssertionError(path + " is not open");
    }

    static void testModelsInsideOpenFilesLoad() throws Exception {
        Path path = Files.createTempFile("sotto", ".apk").toRealPath();
        byte[] model = Files.readAllBytes(Tests.MODEL_PATH);
        int text = MODEL.tokenize("Once")[0];
        for (int offset : new int[] {4096, 100}) {
            byte[] file = new byte[offset + model.length + 5];
            System.arraycopy(model, 0, file, offset, model.length);
            Files.write(path, file);
            try (FileChannel open = FileChannel.open(path)) {
                check(open.size() == file.length, "the file has another size");
                int descriptor = descriptorOf(path);
                try (Model inside = Model.open(descriptor, offset, model.length, new ModelParams())) {
                    same(inside.tokenize("Once")[0], text);
                }
                String message = fails(IOException.class,
                        () -> Model.open(descriptor, offset, file.length, new ModelParams())).getMessage();
                check(message.endsWith(": the file ends before the requested bytes"), message);
                fails(IOException.class, () -> Model.open(descriptor, -1, model.length, new ModelParams()));
            }
        }
        Files.delete(path);
    }

    static void testAMissingLibraryIsExplained() throws Exception {
        Process java = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-Dsotto.library=/missing", "-cp",
                System.getProperty("java.class.path"), "io.github.sotto.Tests").redirectErrorStream(true).start();
        String output = new String(java.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        check(output.contains("; -Dsotto.library=FILE names the file of the JNI library"), output);
    }

    static void testTextIsUtf16() {
        fails(IllegalArgumentException.class, () -> MODEL.tokenize("\ud800"));
        StopParams stops = new StopParams();
        stops.stopStrings = new String[] {"a\udc00"};
        try (Session session = MODEL.session(shape())) {
            fails(IllegalArgumentException.class, () -> session.setStops(stops));
            fails(IllegalArgumentException.class, () -> session.stream("\ud800", 10));
        }
        same(fails(SottoException.class, () -> MODEL.tokenize(new byte[] {-1}, false)).getMessage(),
                "the text is not UTF-8");
    }

    static void testLimitsOfTokens() {
        try (Session session = MODEL.session(shape())) {
            same(text(session, "It was", 0), "");
            same(session.info().stop, Status.STOP_MAX_TOKENS);
            same(session.generate(new int[0], 0, null), Status.STOP_MAX_TOKENS);
            fails(IllegalArgumentException.class, () -> session.stream("", -1));
            fails(IllegalArgumentException.class, () -> session.generate(new int[0], -1, null));
            same(session.info().tokenCount, 2L);
        }
    }

    static void testConversations() {
        ChatParams params = new ChatParams();
        params.replyTokens = 16;
        try (Session session = MODEL.session(shape());
                Chat chat = session.chat(Chat.formatText(ChatFormat.PLAIN), params)) {
            chat.add(ChatRole.USER, "Once upon a time?");
            StringBuilder reply = new StringBuilder();
            chat.reply(8, piece -> {
                reply.append(piece.text);
                return false;
            });
            same(chat.info().messageCount, 2);
            byte[] state = chat.save();
            chat.undoReply();
            StringBuilder again = new StringBuilder();
            chat.reply(8, piece -> {
                again.append(piece.text);
                return false;
            });
            same(again.toString(), reply.toString());
            chat.undo();
            chat.restore(state);
            StopParams stops = new StopParams();
            stops.maxTokens = 2;
            chat.setStops(stops);
            chat.add(ChatRole.USER, "And then?");
            same(chat.reply(Session.NO_LIMIT, null), Status.STOP_MAX_TOKENS);
            chat.reset();
            same(chat.info().turnCount, 0);
        }
    }

    static void testALimitCountsFromItsCall() {
        try (Session session = MODEL.session(shape()); Session other = MODEL.session(shape())) {
            String whole = text(other, "It was", 5);
            session.prefill("It was");
            StringBuilder found = new StringBuilder();
            for (int limit : new int[] {3, 2}) {
                session.setLimit(limit);
                for (Piece piece = session.next(); piece != null; piece = session.next()) {
                    found.append(piece.text);
                }
                same(session.info().stop, Status.STOP_MAX_TOKENS);
            }
            same(found.toString(), whole);
        }
    }

    static void testASecondTextNeedsTheGrammarAgain() {
        try (Session session = MODEL.session(shape())) {
            session.setGrammar(Grammar.choices("[\"yes\", \"no\"]"));
            for (int i = 0; i < 2; ++i) {
                check(text(session, "He said ", Session.NO_LIMIT).matches("yes|no"), "a choice");
                same(fails(SottoException.class, () -> text(session, "She said ", Session.NO_LIMIT)).status(),
                        Status.INVALID_STATE);
                session.reset();
            }
        }
    }

    static void testATextIsCompleteWithinTheTokensOfItsGrammar() {
        try (Session session = MODEL.session(shape())) {
            String schema = "{\"type\": \"object\", \"properties\": {\"name\": {\"type\": \"string\"}},"
                    + "\"required\": [\"name\"]}";
            session.setGrammar(Grammar.jsonSchema(schema), 20);
            check(text(session, "A person: ", 20).endsWith("}"), "an object");
            same(session.info().stop, Status.STOP_GRAMMAR);
        }
    }

    static void testProbabilities() {
        try (Session session = MODEL.session(shape())) {
            SamplerParams params = new SamplerParams();
            same(params.dryBreakers, new String[] {"\n", ":", "\"", "*"});
            params.temperature = 0;
            params.logProbabilities = true;
            params.alternativeCount = 3;
            params.statistics = true;
            session.setSampler(params);
            session.prefill("Once upon a");
            float[] logits = session.logits();
            Piece piece = session.next();
            double sum = 0;
            int best = 0;
            for (int token = 0; token < logits.length; ++token) {
                best = logits[token] > logits[best] ? token : best;
            }
            for (float logit : logits) {
                sum += Math.exp(logit - logits[best]);
            }
            same(piece.token, best);
            check(Math.abs(piece.logProbability + Math.log(sum)) < 1e-4, "log probability");
            double entropy = Math.log(sum);
            for (float logit : logits) {
                entropy += Math.exp(logit - logits[best]) / sum * (logits[best] - logit);
            }
            check(Math.abs(piece.entropy - entropy) < 1e-4, "entropy");
            check(Math.abs(piece.effectiveVocabulary / Math.exp(entropy) - 1) < 1e-3, "effective vocabulary");
            same(piece.keptCount, 1);
            same(piece.repetitiveness, 0f);
            same(piece.alternatives.length, 3);
            same(piece.alternatives[0], best);
            same(piece.alternativeLogProbabilities[0], piece.logProbability);
            same(piece.bytes, MODEL.tokenBytes(best));
            same(session.hidden().length, MODEL.info().embeddingSize);
        }
    }

    static void testListsOfTheSampler() {
        try (Session session = MODEL.session(shape())) {
            SamplerParams params = new SamplerParams();
            params.temperature = 0;
            params.topK = 0;
            params.topP = 1;
            params.minP = 0;
            params.logitBias = new TokenBias[] {new TokenBias(5, Float.NEGATIVE_INFINITY)};
            params.sequenceBias = new SequenceBias[] {new SequenceBias(new int[] {1, 2}, -5)};
            params.badWords = new int[][] {{3, 4}, {5}};
            params.forcedPrefix = new int[] {11, 12};
            params.stages = new Stage[] {Stage.BIAS, Stage.SEQUENCE_BIAS, Stage.BAD_WORDS, Stage.FORCED,
                Stage.TEMPERATURE};
            session.setSampler(params);
            Iterator<Piece> pieces = session.pieces(new int[] {7}, 4);
            same(pieces.next().token, 11);
            same(pieces.next().token, 12);
            params.stages = new Stage[] {Stage.TOP_K, Stage.TOP_K};
            fails(SottoException.class, () -> session.setSampler(params));
            params.stages = new Stage[] {null};
            fails(NullPointerException.class, () -> session.setSampler(params));
            SamplerParams called = new SamplerParams();
            called.logitsCallback = logits -> {
                float kept = logits[7];
                Arrays.fill(logits, Float.NEGATIVE_INFINITY);
                logits[7] = kept;
            };
            session.setSampler(called);
            for (pieces = session.pieces(new int[] {1}, 3); pieces.hasNext();) {
                same(pieces.next().token, 7);
            }
            SamplerParams counting = new SamplerParams();
            counting.logitsProcessor = (tokens, sequence, logits) -> {
                same(sequence, 0);
                logits[tokens[tokens.length - 1] + 1] = Float.POSITIVE_INFINITY;
            };
            session.setSampler(counting);
            int next = 5;
            for (pieces = session.pieces(new int[] {next}, 3); pieces.hasNext();) {
                same(pieces.next().token, ++next);
            }
        }
    }

    static void testStopsStatesAndScores() {
        try (Session session = MODEL.session(shape()); Session other = MODEL.session(shape())) {
            StopParams stops = new StopParams();
            stops.maxTokens = 5;
            stops.bannedStrings = new String[] {" the"};
            session.setStops(stops);
            String first = text(session, "It was", Session.NO_LIMIT);
            same(session.info().stop, Status.STOP_MAX_TOKENS);
            byte[] state = session.save();
            session.forkInto(other);
            String rest = text(session, "", 4);
            same(text(other, "", 4), rest);
            other.restore(state);
            same(text(other, "", 4), rest);
            same(fails(SottoException.class, () -> other.restore(new byte[9])).status(), Status.STATE_CORRUPT);
            int[] prompt = MODEL.tokenize("It was");
            session.rewind(prompt.length);
            same(text(session, "", Session.NO_LIMIT), first);
            session.reset();
            Score score = new Score();
            float[] each = session.score(prompt, score);
            check(Math.abs(each[1] - score.logProbability) < 1e-5, "score");
            session.reset();
            session.prefill("Once upon a tim");
            session.heal();
            check(session.next().text.startsWith("e"), "healed");
            check(session.timings().prefillTokens > 0, "timings");
            session.resetTimings();
            same(session.timings().prefillTokens, 0L);
            session.reset();
            session.prefillEmbeddings(new float[MODEL.info().embeddingSize]);
            same(fails(SottoException.class, session::save).getMessage(),
                    "a stream that begins with embeddings cannot be saved");
        }
    }

    private static void stops(Status reason, Tests.Action action) {
        same(fails(SottoException.class, action).status(), reason);
    }

    static void testStopsThatLeaveNothingToGive() {
        SessionParams shape = shape();
        shape.contextTokens = 16;
        shape.sequenceCount = 2;
        shape.sequenceTokens = 4;
        try (Session session = MODEL.session(shape)) {
            SamplerParams sampler = new SamplerParams();
            sampler.ignoreEnd = true;
            session.setSampler(sampler);
            int[] tokens = new int[17];
            stops(Status.PROMPT_TOO_LONG, () -> session.score(tokens, new Score()));
            String message = fails(SottoException.class, () -> session.prefill(tokens)).getMessage();
            check(message.contains("17 tokens do not fit a context of 16"), message);
            stops(Status.PROMPT_TOO_LONG, () -> session.embed(tokens, Pooling.MEAN));
            session.prefill("It was");
            session.next();
            session.cancel();
            stops(Status.STOP_CANCELLED, session::logits);
            same(session.logits().length, MODEL.info().vocabularySize);
            session.next();
            session.cancel();
            stops(Status.STOP_CANCELLED, session::hidden);
            same(session.hidden().length, MODEL.info().embeddingSize);
            session.next();
            session.cancel();
            stops(Status.STOP_CANCELLED, () -> session.search(new SearchParams()));
            SearchParams stopped = new SearchParams();
            stopped.onStep = (sequence, token) -> true;
            same(session.search(stopped).length, 2);
            same(session.generate(new int[0], Session.NO_LIMIT, null), Status.STOP_CONTEXT_FULL);
            stops(Status.STOP_CONTEXT_FULL, session::logits);
            stops(Status.STOP_CONTEXT_FULL, session::hidden);
            stops(Status.STOP_CONTEXT_FULL, () -> session.search(new SearchParams()));
        }
    }

    static void testWhatLetsATextGoOn() {
        try (Session session = MODEL.session(shape()); Session other = MODEL.session(shape())) {
            SamplerParams sampler = new SamplerParams();
            sampler.ignoreEnd = true;
            session.setSampler(sampler);
            other.setSampler(sampler);
            Runnable[] ways = {() -> session.score(new int[] {11}, new Score()),
                () -> session.embed(new int[] {11}, Pooling.MEAN), () -> session.setStops(new StopParams()),
                () -> session.setMatcher(null), () -> fails(ArithmeticException.class,
                        () -> session.generate(new int[0], 3, piece -> 1 / (piece.token - piece.token) > 0))};
            for (Runnable way : ways) {
                same(session.generate(MODEL.tokenize("It was"), 3, null), Status.STOP_MAX_TOKENS);
                same(session.next(), null);
                way.run();
                boolean isGenerate = way == ways[ways.length - 1]; // whose callback has failed
                same(session.info().stop, isGenerate ? Status.STOP_CALLBACK : Status.OK);
                check(session.next() != null, "the text continues");
            }
            session.reset();
            String whole = text(other, "It was", 8);
            Iterator<Piece> pieces = session.pieces("It was", Session.NO_LIMIT);
            StringBuilder found = new StringBuilder(pieces.next().text);
            session.cancel();
            check(!pieces.hasNext(), "cancelled");
            same(session.info().stop, Status.STOP_CANCELLED);
            for (int i = 0; i < 7; ++i) {
                found.append(session.next().text);
            }
            same(found.toString(), whole);
            same(session.info().stop, Status.OK);
        }
    }

    static void testSearches() {
        SessionParams shape = shape();
        shape.sequenceCount = 4;
        shape.sequenceTokens = 8;
        shape.features = Feature.HIDDEN_HISTORY;
        try (Session session = MODEL.session(shape)) {
            session.prefill("She looked");
            int at = MODEL.tokenize(" at")[0];
            int up = MODEL.tokenize(" up")[0];
            List<Integer> steps = new ArrayList<>();
            SearchParams params = new SearchParams();
            params.maxTokens = 5;
            params.phrases = new int[][] {{at}, {up}};
            params.phraseGroups = new int[] {0, 0};
            params.onStep = (sequence, token) -> !steps.add(token);
            for (Sequence sequence : session.search(params)) {
                check(Arrays.stream(sequence.tokens).anyMatch(token -> token == at || token == up), "phrase");
            }
            check(!steps.isEmpty(), "steps");
            params.phraseGroups = new int[] {0};
            fails(IllegalArgumentException.class, () -> session.search(params));
            SearchParams votes = new SearchParams();
            votes.mode = SearchMode.SAMPLE;
            votes.rerank = Rerank.CALLBACK;
            votes.maxTokens = 4;
            votes.similarity = (a, b) -> a.length - b.length;
            same(session.search(votes).length, 4);
            votes.similarity = (a, b) -> {
                throw new IllegalStateException("mine");
            };
            fails(IllegalStateException.class, () -> session.search(votes));
            SearchParams contrast = new SearchParams();
            contrast.mode = SearchMode.CONTRASTIVE;
            contrast.maxTokens = 4;
            same(session.search(contrast).length, 1);
        }
    }

    static void testSpeculation() {
        SessionParams shape = shape();
        shape.draftTokens = 4;
        try (Session plain = MODEL.session(shape()); Session fast = MODEL.session(shape)) {
            SpeculationParams params = new SpeculationParams();
            params.sources = DraftSource.LOOKUP | DraftSource.CALLBACK;
            params.draft = (tokens, hidden, capacity) -> new int[] {tokens[tokens.length - 1]};
            fast.setSpeculation(params);
            same(text(fast, "It was", 30), text(plain, "It was", 30));
            check(fast.speculationInfo().proposedCount > 0, "guesses");
        }
    }

    static void testGrammars() {
        GrammarParams number = new GrammarParams();
        number.language = GrammarLanguage.NUMBER;
        Grammar[] grammars = {Grammar.gbnf("root ::= \"a\"+"), Grammar.regex("[0-9]{2}"),
            Grammar.choices("[\"yes\", \"no\"]"), Grammar.jsonSchema("{\"type\": \"integer\"}"),
            Grammar.compile("{\"minimum\": 1, \"maximum\": 9}", number)};
        String[] texts = {"aa", "42", "no", "17", "2.5"};
        for (int i = 0; i < texts.length; ++i) {
            try (Grammar loaded = Grammar.load(grammars[i].save()); Matcher matcher = new Matcher(loaded, null)) {
                check(matcher.matches(0, texts[i]), texts[i]);
                check(!matcher.begins(0, texts[i] + "?"), texts[i] + "?");
            }
        }
        same(fails(SottoException.class, () -> Grammar.load(new byte[7])).status(), Status.GRAMMAR_CORRUPT);
    }

    static void testAMatcherOverAnyVocabulary() {
        byte[][] words = {{'a'}, {'b'}, {'a', 'b'}, {'c'}, {'<', '>'}};
        MatcherParams params = new MatcherParams();
        params.sequenceCount = 2;
        try (Vocabulary vocabulary = Vocabulary.of(words, new int[] {4}, new int[] {4});
                Grammar grammar = Grammar.gbnf("root ::= \"ab\"+");
                Matcher matcher = new Matcher(grammar, vocabulary, params)) {
            same(matcher.allowedTokens(0), new int[] {0, 2});
            matcher.acceptToken(0, 0);
            same(matcher.mask(0), new long[] {0b10});
            same(new String(matcher.forcedText(0, 10), StandardCharsets.UTF_8), "b");
            matcher.fork(0, 1);
            matcher.acceptText(1, "b");
            check(matcher.info(1).mayEnd, "may end");
            matcher.rewind(1);
            same(matcher.info(0).tokenCount, 0L);
            matcher.reset(1);
            fails(SottoException.class, () -> matcher.acceptToken(0, 3));
            check(matcher.memoryBytes() > 0, "memory");
        }
        fails(ArrayIndexOutOfBoundsException.class, () -> Vocabulary.of(words, new int[] {9}, new int[0]));
    }

    static void testSamplersAndWatermarks() {
        SamplerParams params = new SamplerParams();
        params.topP = 0.8f;
        params.topK = 0;
        params.minP = 0;
        params.temperature = 1;
        try (Sampler sampler = new Sampler(4, null, params)) {
            Sampler.Input input = new Sampler.Input(1, 2, 3, 2.5f);
            input.history = new int[] {0, 1};
            input.generatedCount = 1;
            Sampler.Distribution left = sampler.apply(input);
            same(left.tokens, new int[] {1, 2, 3});
            same(left.probabilities.length, 3);
            input.allowed = new long[] {1};
            same(sampler.sample(input), 0);
            fails(IllegalArgumentException.class, () -> sampler.sample(new Sampler.Input(1, 2)));
        }
        WatermarkParams mark = new WatermarkParams();
        mark.scheme = WatermarkScheme.LEFT_HASH;
        mark.key = 7;
        mark.delta = 6;
        try (Session session = MODEL.session(shape())) {
            SamplerParams marked = new SamplerParams();
            marked.watermark = mark;
            session.setSampler(marked);
            List<Integer> written = new ArrayList<>();
            session.pieces("It was", 80).forEachRemaining(piece -> written.add(piece.token));
            int[] tokens = written.stream().mapToInt(token -> token).toArray();
            int size = MODEL.info().vocabularySize;
            check(Sotto.detectWatermark(mark, size, tokens).isMarked, "marked");
            mark.key = 8;
            check(!Sotto.detectWatermark(mark, size, tokens).isMarked, "not marked");
        }
    }
}
