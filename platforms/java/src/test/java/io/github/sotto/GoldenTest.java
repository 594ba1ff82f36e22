package io.github.sotto;

import static io.github.sotto.Tests.MODEL;
import static io.github.sotto.Tests.same;
import static io.github.sotto.Tests.shape;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The demo model produces the golden figures that all bindings share. */
final class GoldenTest {
    private GoldenTest() {}

    /** The lines of one case. */
    private static final class Case {
        private final Map<String, List<String>> fields = new HashMap<>();

        Case(String name) throws Exception {
            boolean isInside = false;
            for (String line : Files.readAllLines(Paths.get(System.getenv("SOTTO_GOLDEN")))) {
                String key = line.split(" ", 2)[0];
                String value = line.length() > key.length() ? line.substring(key.length() + 1) : "";
                if (key.equals("case")) {
                    isInside = value.equals(name);
                } else if (isInside) {
                    fields.computeIfAbsent(key, unused -> new ArrayList<>()).add(unescape(value));
                }
            }
        }

        private static String unescape(String text) {
            return text.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\");
        }

        String text(String key) {
            return fields.get(key).get(0);
        }

        List<String> all(String key) {
            return fields.get(key);
        }

        int number(String key) {
            return Integer.parseInt(text(key));
        }

        float decimal(String key) {
            return Float.parseFloat(text(key));
        }

        int[] tokens(String key) {
            return tokensIn(text(key));
        }
    }

    private static int[] tokensIn(String text) {
        return Stream.of(text.split(" ")).mapToInt(Integer::parseInt).toArray();
    }

    private static SamplerParams sampler(Case fields) {
        SamplerParams params = new SamplerParams();
        params.temperature = fields.decimal("temperature");
        params.topK = fields.number("top_k");
        params.topP = fields.decimal("top_p");
        params.repetitionPenalty = fields.decimal("repetition_penalty");
        params.seed = fields.number("seed");
        return params;
    }

    private interface Prepare {
        void prepare(Session session, Case fields);
    }

    private static void checkText(String name, Prepare prepare) throws Exception {
        Case fields = new Case(name);
        same(MODEL.tokenize(fields.text("prompt")), fields.tokens("prompt_tokens"));
        try (Session session = MODEL.session(shape())) {
            session.setSampler(sampler(fields));
            prepare.prepare(session, fields);
            List<Integer> tokens = new ArrayList<>();
            StringBuilder text = new StringBuilder();
            Iterator<Piece> pieces = session.pieces(fields.text("prompt"), fields.number("max_tokens"));
            while (pieces.hasNext()) {
                Piece piece = pieces.next();
                text.append(piece);
                if (piece.token >= 0) {
                    tokens.add(piece.token);
                }
            }
            same(tokens.stream().mapToInt(token -> token).toArray(), fields.tokens("tokens"));
            same(text.toString(), fields.text("text"));
            same(session.info().stop, Status.of(fields.number("status")));

            StringBuilder again = new StringBuilder();
            session.reset();
            Status status = session.generate(fields.tokens("prompt_tokens"), fields.number("max_tokens"), piece -> {
                again.append(piece.text);
                return false;
            });
            same(again.toString(), fields.text("text"));
            same(status, Status.of(fields.number("status")));
        }
    }

    static void testTokenize() throws Exception {
        Case fields = new Case("tokenize");
        same(MODEL.tokenize(fields.text("text")), fields.tokens("tokens"));
        same(new String(MODEL.detokenize(fields.tokens("tokens")), StandardCharsets.UTF_8), fields.text("text"));
    }

    static void testTexts() throws Exception {
        checkText("greedy", (session, fields) -> {});
        checkText("sampled", (session, fields) -> {});
        checkText("stop", (session, fields) -> {
            StopParams stops = new StopParams();
            stops.stopStrings = new String[] {fields.text("stop_string")};
            session.setStops(stops);
        });
        checkText("grammar", (session, fields) -> {
            GrammarParams params = new GrammarParams();
            params.language = GrammarLanguage.of(fields.number("language"));
            params.jsonSpace = JsonSpace.of(fields.number("json_space"));
            try (Grammar grammar = Grammar.compile(fields.text("source"), params)) {
                session.setGrammar(grammar);
            }
        });
    }

    static void testBatch() throws Exception {
        List<Case> cases = Arrays.asList(new Case("greedy"), new Case("sampled"));
        try (Session first = MODEL.session(shape()); Session second = MODEL.session(shape());
                Session empty = MODEL.session(shape())) {
            List<Session> sessions = Arrays.asList(first, second, empty);
            for (int i = 0; i < cases.size(); ++i) {
                sessions.get(i).setSampler(sampler(cases.get(i)));
                sessions.get(i).prefill(cases.get(i).text("prompt"));
                sessions.get(i).setLimit(cases.get(i).number("max_tokens"));
            }
            String[] texts = {"", ""};
            boolean goesOn = true;
            while (goesOn) {
                List<Session.Step> steps = Session.nextOf(sessions);
                goesOn = false;
                for (int i = 0; i < texts.length; ++i) {
                    Piece piece = steps.get(i).piece;
                    texts[i] += piece == null ? "" : piece.text;
                    goesOn |= piece != null;
                }
                same(steps.get(2).failure.getMessage(), "the stream is empty: prefill a prompt first");
            }
            for (int i = 0; i < texts.length; ++i) {
                same(texts[i], cases.get(i).text("text"));
                same(sessions.get(i).info().stop, Status.of(cases.get(i).number("status")));
            }
        }
    }

    static void testSearch() throws Exception {
        Case fields = new Case("search");
        SessionParams shape = shape();
        shape.sequenceCount = fields.number("sequence_count");
        shape.sequenceTokens = 32;
        try (Session session = MODEL.session(shape)) {
            session.prefill(fields.text("prompt"));
            SearchParams params = new SearchParams();
            params.maxTokens = fields.number("max_tokens");
            Sequence[] found = session.search(params);
            same(found.length, fields.all("sequence").size());
            for (int i = 0; i < found.length; ++i) {
                same(found[i].tokens, tokensIn(fields.all("sequence").get(i)));
            }
        }
    }

    static void testEmbedding() throws Exception {
        Case fields = new Case("embedding");
        try (Session session = MODEL.session(shape())) {
            float[] embedding =
                    session.embed(MODEL.tokenize(fields.text("prompt")), Pooling.of(fields.number("pooling")));
            same(embedding.length, fields.number("size"));
            String[] bits = fields.text("first_bits").split(" ");
            for (int i = 0; i < bits.length; ++i) {
                same(Integer.toHexString(Float.floatToRawIntBits(embedding[i])), bits[i]);
            }
        }
    }

    /** Makes one call of the case "calls" and returns the text that it generates. */
    private static String execute(Session session, String name, String argument) throws Exception {
        StringBuilder text = new StringBuilder();
        switch (name) {
            case "prefill":
                session.prefill(argument);
                break;
            case "next":
                Piece piece = session.next();
                return piece == null ? "" : piece.text;
            case "generate":
                session.generate(new int[0], Long.parseLong(argument), generated -> {
                    text.append(generated.text);
                    return false;
                });
                break;
            case "callback":
                int[] rest = {Integer.parseInt(argument)};
                session.generate(new int[0], Session.NO_LIMIT, generated -> {
                    text.append(generated.text);
                    return --rest[0] == 0;
                });
                break;
            case "limit":
                session.setLimit(Long.parseLong(argument));
                break;
            case "stops":
                session.setStops(stops(argument));
                break;
            case "allow":
                SamplerParams sampler = new SamplerParams();
                sampler.temperature = 0;
                sampler.allowedTokens = argument.isEmpty() ? new int[0] : tokensIn(argument);
                session.setSampler(sampler);
                break;
            case "grammar":
                session.setGrammar(argument.isEmpty() ? null : Grammar.regex(argument));
                break;
            case "score":
                session.score(MODEL.tokenize(argument), new Score());
                break;
            case "embed":
                session.embed(MODEL.tokenize(argument), Pooling.MEAN);
                break;
            case "rewind":
                session.rewind(Long.parseLong(argument));
                break;
            case "restore":
                session.restore(session.save());
                break;
            case "cancel":
                session.cancel();
                break;
            case "reset":
                session.reset();
                break;
            default:
                throw new AssertionError("unknown call: " + name);
        }
        return text.toString();
    }

    private static StopParams stops(String argument) {
        String value = argument.substring(argument.indexOf(' ') + 1);
        StopParams params = new StopParams();
        switch (argument.split(" ")[0]) {
            case "stop_string":
                params.stopStrings = new String[] {value};
                break;
            case "banned_string":
                params.bannedStrings = new String[] {value};
                break;
            case "stop_token":
                params.stopTokens = tokensIn(value);
                break;
            case "max_time_ns":
                params.maxTimeNs = Long.parseLong(value);
                break;
            case "repetition_limit":
                params.repetitionLimit = Float.parseFloat(value);
                break;
            default:
                same(argument, "");
        }
        return params;
    }

    static void testCallsEndAndContinueTexts() throws Exception {
        Case fields = new Case("calls");
        try (Session session = MODEL.session(shape())) {
            for (int i = 0; i < fields.all("call").size(); ++i) {
                String[] call = fields.all("call").get(i).split(" ", 2);
                String result;
                try {
                    String text = execute(session, call[0], call.length > 1 ? call[1] : "");
                    result = session.info().stop.value() + " " + text;
                } catch (SottoException failure) {
                    result = failure.status().value() + " ";
                }
                same("call " + i + ", " + call[0] + ": " + result,
                        "call " + i + ", " + call[0] + ": " + fields.all("result").get(i));
            }
        }
    }

    private static void checkFailure(String name, Tests.Action action) throws Exception {
        Case fields = new Case(name);
        SottoException failure = Tests.fails(SottoException.class, action);
        same(failure.status(), Status.of(fields.number("status")));
        same(failure.offset(), fields.text("offset").equals("none") ? -1L : (long) fields.number("offset"));
        Tests.check(failure.getMessage().endsWith(fields.text("message")), failure.getMessage());
    }

    static void testFailures() throws Exception {
        checkFailure("bad_grammar", () -> Grammar.gbnf(new Case("bad_grammar").text("source")));
        checkFailure("bad_text", () -> {
            String[] digits = new Case("bad_text").text("bytes").split(" ");
            byte[] bytes = new byte[digits.length];
            for (int i = 0; i < bytes.length; ++i) {
                bytes[i] = (byte) Integer.parseInt(digits[i], 16);
            }
            MODEL.tokenize(bytes, false);
        });
        checkFailure("bad_model", () -> {
            byte[] bytes = Files.readAllBytes(Tests.MODEL_PATH);
            int kept = new Case("bad_model").number("kept_bytes");
            Model.of(java.util.Arrays.copyOf(bytes, kept), new ModelParams());
        });
        try (Session session = MODEL.session(shape())) {
            checkFailure("bad_parameter", () -> {
                SamplerParams params = new SamplerParams();
                params.temperature = new Case("bad_parameter").decimal("temperature");
                session.setSampler(params);
            });
        }
    }
}
