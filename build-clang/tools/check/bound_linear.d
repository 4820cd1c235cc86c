build-clang/tools/check/bound_linear.o: tools/check/bound_linear.c \
  tools/check/bound_op.h ref/base/case/args.h ref/base/format/matrix.h \
  ref/base/num/dtype.h ref/base/num/real.h tools/check/err.h \
  ref/base/num/status.h ref/base/num/convert.h

tools/check/bound_op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:

tools/check/err.h:

ref/base/num/status.h:

ref/base/num/convert.h:
