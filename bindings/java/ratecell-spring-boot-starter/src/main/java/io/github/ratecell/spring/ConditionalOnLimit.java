package io.github.ratecell.spring;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.context.annotation.Condition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** Where the properties have a limit: a policy, or a file of one. */
@Target({ElementType.METHOD, ElementType.TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Conditional(ConditionalOnLimit.Given.class)
@interface ConditionalOnLimit {
    /** Looks for either. */
    final class Given implements Condition {
        @Override
        public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
            var properties = context.getEnvironment();
            return properties.containsProperty("ratecell.policy") || properties.containsProperty("ratecell.path");
        }
    }
}
