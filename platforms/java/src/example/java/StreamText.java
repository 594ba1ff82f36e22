import io.github.sotto.Model;
import io.github.sotto.SamplerParams;
import io.github.sotto.Session;

/** Streams text: java -cp sotto.jar StreamText.java demo.sotto "Once upon a time" */
public final class StreamText {
    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 2) {
            System.err.println("usage: java StreamText.java MODEL PROMPT");
            System.exit(2);
        }
        try (Model model = Model.open(arguments[0]); Session session = model.session()) {
            SamplerParams sampler = new SamplerParams();
            sampler.temperature = 0.8f;
            session.setSampler(sampler);
            System.out.print(arguments[1]);
            session.stream(arguments[1], 100).forEach(System.out::print);
            System.out.println();
        }
    }
}
