import io.github.sotto.Grammar;
import io.github.sotto.Model;
import io.github.sotto.Session;
import io.github.sotto.Status;

/** Streams a JSON object that satisfies a schema: java -cp sotto.jar JsonOutput.java demo.sotto "A person: " */
public final class JsonOutput {
    private static final String SCHEMA = "{\"type\": \"object\", \"required\": [\"name\", \"age\"],"
            + " \"additionalProperties\": false, \"properties\":"
            + " {\"name\": {\"type\": \"string\", \"maxLength\": 20},"
            + "  \"age\": {\"type\": \"integer\", \"minimum\": 0, \"maximum\": 120}}}";

    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 2) {
            System.err.println("usage: java JsonOutput.java MODEL PROMPT");
            System.exit(2);
        }
        try (Model model = Model.open(arguments[0]); Session session = model.session();
                Grammar grammar = Grammar.jsonSchema(SCHEMA)) {
            session.setGrammar(grammar);
            session.stream(arguments[1], 400).forEach(System.out::print);
            System.out.println();
            if (session.info().stop != Status.STOP_GRAMMAR) {
                System.err.println("the object is not complete: " + session.info().stop);
                System.exit(3);
            }
        }
    }
}
